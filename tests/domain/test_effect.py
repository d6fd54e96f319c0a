"""The life of an effect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from landfast.domain.effect import (
    HELD,
    HOLDER_SIGNALS,
    OVER,
    STAGED,
    STAGED_AFTER_OTHERS,
    TRANSITIONS,
    EffectSettlement,
    EffectSignal,
    EffectState,
    StagedEffect,
    Step,
    after,
    move,
)
from landfast.domain.ids import HandlerName, ReceiptDigest, Token

TOKEN = Token(b"t" * 16)


def test_every_state_is_reached_and_every_signal_is_heard() -> None:
    assert {STAGED, STAGED_AFTER_OTHERS, *TRANSITIONS.values()} == set(EffectState)
    assert {signal for _, signal in TRANSITIONS} == set(EffectSignal)


def test_only_a_claimed_effect_is_settled() -> None:
    assert {state for state, signal in TRANSITIONS if signal in HOLDER_SIGNALS} == {HELD}
    for signal in HOLDER_SIGNALS:
        settled = EffectSettlement("key", 1, TOKEN, signal)
        assert settled.state is after(HELD, signal)
        assert settled.is_over is (after(settled.state, EffectSignal.CLAIM) is None)


def test_one_that_waits_is_never_claimed_and_only_the_end_of_others_frees_it() -> None:
    ways_out = {signal: end for (state, signal), end in TRANSITIONS.items() if state is EffectState.WAITING}
    assert ways_out.pop(EffectSignal.ERASE) is EffectState.DEAD
    assert ways_out == {EffectSignal.FREE: EffectState.READY, EffectSignal.SCHEDULE: EffectState.DELAYED}
    staged = StagedEffect("key", 1, ReceiptDigest(b"d" * 16), HandlerName("h"), "mail", b"{}")
    assert staged.begins is STAGED
    assert replace(staged, due_in=0.0).begins is EffectState.DELAYED
    assert replace(staged, due_in=0.0, step=Step(after=("other",))).begins is STAGED_AFTER_OTHERS


def test_what_is_over_is_claimed_only_after_an_operator_revived_it() -> None:
    assert {EffectState.DONE, EffectState.DEAD} == OVER
    ways_out = {signal for (state, signal), end in TRANSITIONS.items() if state in OVER and end not in OVER}
    assert ways_out == {EffectSignal.REVIVE}
    assert move(EffectSignal.REVIVE) == (EffectState.DEAD, STAGED)


@pytest.mark.parametrize("signal", sorted(set(EffectSignal) - HOLDER_SIGNALS))
def test_no_claim_comes_to_what_is_not_its_holders_to_say(signal: EffectSignal) -> None:
    with pytest.raises(ValueError, match=f"no claim comes to {signal}"):
        EffectSettlement("key", 1, TOKEN, signal)
