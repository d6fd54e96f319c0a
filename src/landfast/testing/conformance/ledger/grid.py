"""The whole grid: every signal sent to an effect in every state, checked against the one table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from landfast.domain.effect import HOLDER_SIGNALS, ClaimedEffect, EffectSettlement, EffectSignal, EffectState, after
from landfast.domain.erasure import Erased
from landfast.domain.ids import EventId, InboxId
from landfast.domain.outcome import Tries
from landfast.testing.conformance.ledger.desk import Desk, effect, stage
from landfast.testing.conformance.ledger.effects import LEASE, claim, suspect, token

DELAY = 60.0
GRID = [(state, signal) for state in EffectState for signal in EffectSignal]
WAY_TO = {
    EffectState.READY: EffectSignal.RELEASE,
    EffectState.DELAYED: EffectSignal.RETRY,
    EffectState.DONE: EffectSignal.FINISH,
    EffectState.DEAD: EffectSignal.BURY,
}


class EffectGridConformance:
    @pytest.mark.parametrize(("state", "signal"), GRID, ids=[f"{state} {signal}" for state, signal in GRID])
    async def test_every_signal_does_to_an_effect_what_the_table_says(
        self, desk: Desk, state: EffectState, signal: EffectSignal
    ) -> None:
        held = await effect_in(desk, state)
        before = await row_of(desk)
        took_effect = await send(desk, held, state, signal)
        now = await row_of(desk)
        expected = after(state, signal)
        if expected is None:
            assert not took_effect
            assert now == before
            return
        assert took_effect
        assert now["state"] is expected
        # What it is in says who may have it next, and nothing that is over ever comes back.
        due = [*await claim(desk.ledger, 8), *filter(None, [await suspect(desk.ledger, 9)])]
        assert [each.staged.key for each in due] == ([held.staged.key] if expected is EffectState.READY else [])

    @pytest.mark.parametrize("signal", sorted(HOLDER_SIGNALS))
    @pytest.mark.parametrize("stale", [{"token": token(99)}, {"run": 0}, {"run": 2}, {"key": "another"}], ids=str)
    async def test_a_settlement_under_another_token_run_or_key_changes_nothing(
        self, desk: Desk, signal: EffectSignal, stale: dict[str, Any]
    ) -> None:
        held = await effect_in(desk, EffectState.CLAIMED)
        before = await row_of(desk)
        assert list(await desk.ledger.settle([replace(settlement(held, signal), **stale)])) == [False]
        assert await row_of(desk) == before

    async def test_a_batch_of_all_signals_does_to_each_what_its_own_says(self, desk: Desk) -> None:
        signals = sorted(HOLDER_SIGNALS)
        await stage(desk.ledger, *(effect(signal) for signal in signals))
        held = {each.staged.name: each for each in await claim(desk.ledger, 1)}
        settled = await desk.ledger.settle([settlement(held[signal], signal) for signal in signals])
        assert list(settled) == [True] * len(signals)
        found = {row["name"]: (row["state"], row["attempts"]) for row in await desk.ledger.list(limit=9)}
        assert found == {
            signal: (after(EffectState.CLAIMED, signal), 0 if signal is EffectSignal.RELEASE else 1)
            for signal in signals
        }


async def effect_in(desk: Desk, state: EffectState) -> ClaimedEffect:
    """An effect that came to this state by way of a claim, whose token is the one it was settled under."""
    await stage(desk.ledger, effect())
    (held,) = await claim(desk.ledger, 1)
    if state is not EffectState.CLAIMED:
        assert await desk.ledger.settle([settlement(held, WAY_TO[state])]) == [True]
    return held


async def row_of(desk: Desk) -> dict[str, Any]:
    (row,) = await desk.ledger.list(limit=9)
    return row


async def send(desk: Desk, held: ClaimedEffect, state: EffectState, signal: EffectSignal) -> bool:
    """Whether it took effect, as far as the ledger tells: of an erasure, it tells nothing."""
    ledger, staged = desk.ledger, held.staged
    if signal in HOLDER_SIGNALS:
        return bool((await ledger.settle([settlement(held, signal)]))[0])
    if signal is EffectSignal.REVIVE:
        return await ledger.revive([(staged.key, staged.run)]) == 1
    if signal is EffectSignal.ERASE:
        await ledger.erase(InboxId(b"i" * 16), [Erased(EventId(b"e" * 16), staged.digest)], who="ada")
        return True
    if state is EffectState.CLAIMED:  # claimable again only when the lease has expired, and then alone
        assert await claim(ledger, 2) == []
        await desk.advance(LEASE + 1)
        return await suspect(ledger, 3) is not None
    await desk.advance(DELAY + 1)
    return bool(await claim(ledger, 2))


def settlement(held: ClaimedEffect, signal: EffectSignal) -> EffectSettlement:
    return EffectSettlement(
        held.staged.key, held.staged.run, held.token, signal, due_in=_due_in(signal), tries=Tries(1, 0.5)
    )


def _due_in(signal: EffectSignal) -> float:
    return DELAY if signal in {EffectSignal.POSTPONE, EffectSignal.RETRY} else 0.0
