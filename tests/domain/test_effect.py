"""The life of an effect."""

from __future__ import annotations

import pytest

from landfast.domain.effect import (
    HELD,
    HOLDER_SIGNALS,
    OVER,
    STAGED,
    TRANSITIONS,
    EffectSettlement,
    EffectSignal,
    EffectState,
    after,
    move,
)
from landfast.domain.ids import Token

TOKEN = Token(b"t" * 16)


def test_every_state_is_reached_and_every_signal_is_heard() -> None:
    assert {STAGED, *TRANSITIONS.values()} == set(EffectState)
    assert {signal for _, signal in TRANSITIONS} == set(EffectSignal)


def test_only_a_claimed_effect_is_settled() -> None:
    assert {state for state, signal in TRANSITIONS if signal in HOLDER_SIGNALS} == {HELD}
    for signal in HOLDER_SIGNALS:
        settled = EffectSettlement("key", 1, TOKEN, signal)
        assert settled.state is after(HELD, signal)
        assert settled.is_over is (after(settled.state, EffectSignal.CLAIM) is None)


def test_what_is_over_is_claimed_only_after_an_operator_revived_it() -> None:
    assert {EffectState.DONE, EffectState.DEAD} == OVER
    ways_out = {signal for (state, signal), end in TRANSITIONS.items() if state in OVER and end not in OVER}
    assert ways_out == {EffectSignal.REVIVE}
    assert move(EffectSignal.REVIVE) == (EffectState.DEAD, STAGED)


@pytest.mark.parametrize("signal", sorted(set(EffectSignal) - HOLDER_SIGNALS))
def test_no_claim_comes_to_what_is_not_its_holders_to_say(signal: EffectSignal) -> None:
    with pytest.raises(ValueError, match=f"no claim comes to {signal}"):
        EffectSettlement("key", 1, TOKEN, signal)
