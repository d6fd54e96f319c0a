"""The whole grid: every signal sent to an effect in every state, checked against the one table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from landfast.domain.arrival import Arrived
from landfast.domain.effect import (
    HOLDER_SIGNALS,
    ClaimedEffect,
    EffectSettlement,
    EffectSignal,
    EffectState,
    Step,
    after,
)
from landfast.domain.erasure import Erased
from landfast.domain.ids import EventId, InboxId
from landfast.domain.outcome import Tries
from landfast.testing.conformance.ledger.desk import Desk, effect, key, stage, transaction
from landfast.testing.conformance.ledger.effects import LEASE, claim, suspect, token

DELAY = 600.0
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
        assert [each.staged.key for each in due if each.staged.name == held.staged.name] == (
            [held.staged.key] if expected is EffectState.READY else []
        )

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
    if state is EffectState.WAITING:
        return await waiting(desk)
    await stage(desk.ledger, effect())
    (held,) = await claim(desk.ledger, 1)
    if state is not EffectState.CLAIMED:
        assert await desk.ledger.settle([settlement(held, WAY_TO[state])]) == [True]
    return held


async def waiting(desk: Desk, *, due_in: float | None = None) -> ClaimedEffect:
    """One that waits for another, under a token that nobody gave it: no claim leads here."""
    first = effect("first", step=Step(leads=True))
    later = replace(effect(), step=Step(after=(first.key,)), due_in=due_in)
    await stage(desk.ledger, first, later)
    return ClaimedEffect(later, token(1), Tries())


async def row_of(desk: Desk) -> dict[str, Any]:
    """Of the effect itself, not of one that it waits for."""
    (row,) = [row for row in await desk.ledger.list(limit=9) if row["name"] == effect().name]
    return row


async def send(desk: Desk, held: ClaimedEffect, state: EffectState, signal: EffectSignal) -> bool:
    """Whether it took effect, as far as the ledger tells: of an erasure, it tells nothing."""
    ledger, staged = desk.ledger, held.staged
    if signal in {EffectSignal.FREE, EffectSignal.SCHEDULE}:
        await finish_first(desk, state, signal)
        return state is EffectState.WAITING
    if signal is EffectSignal.ARRIVE:
        await arrive(desk)
        return after(state, signal) is not None
    if signal in HOLDER_SIGNALS:
        return bool((await ledger.settle([settlement(held, signal)]))[0])
    if signal is EffectSignal.REVIVE:
        return await ledger.revive([(staged.key, staged.run)]) == 1
    if signal is EffectSignal.SKIP:
        return await ledger.skip(staged.key, staged.run)
    if signal is EffectSignal.ERASE:
        await ledger.erase(InboxId(b"i" * 16), [Erased(EventId(b"e" * 16), staged.digest)], who="ada")
        return True
    if state is EffectState.CLAIMED:  # claimable again only when the lease has expired, and then alone
        assert await claim(ledger, 2) == []
        await desk.advance(LEASE + 1)
        return await suspect(ledger, 3) is not None
    await desk.advance(DELAY + 1)
    return staged.key in {each.staged.key for each in await claim(ledger, 2)}


async def finish_first(desk: Desk, state: EffectState, signal: EffectSignal) -> None:
    """Another one ends, which a row says that this one waits for: only if it does wait, that is anything to it."""
    if state is not EffectState.WAITING:
        first = effect("first", step=Step(leads=True))
        await stage(desk.ledger, first)
        waits = f"VALUES ('{effect().key}', 1, '{first.key}')"
        await desk.change(f"INSERT INTO {desk.table('effect_wait')} {waits}")
    elif signal is EffectSignal.SCHEDULE:
        for noun in ("effect_wait", "effect"):
            await desk.change(f"DELETE FROM {desk.table(noun)}")  # noqa: S608 - the driver's own name
        await waiting(desk, due_in=DELAY)
    for held in await claim(desk.ledger, 2):
        is_first = held.staged.name == "first"
        came_to = settlement(held, EffectSignal.FINISH if is_first else EffectSignal.RELEASE)
        assert list(await desk.ledger.settle([replace(came_to, is_step=is_first)])) == [True]


async def arrive(desk: Desk) -> None:
    """An event comes for which a row says that this one stands."""
    waits = f"VALUES ('{effect().key}', 1, 'arrival:1')"
    await desk.change(f"INSERT INTO {desk.table('effect_wait')} {waits}")
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key("another")])
        await tx.commit(results=(), effects=(), arrivals=[Arrived("arrival:1", "e1")])


def settlement(held: ClaimedEffect, signal: EffectSignal) -> EffectSettlement:
    return EffectSettlement(
        held.staged.key, held.staged.run, held.token, signal, due_in=_due_in(signal), tries=Tries(1, 0.5)
    )


def _due_in(signal: EffectSignal) -> float:
    return DELAY if signal in {EffectSignal.POSTPONE, EffectSignal.RETRY} else 0.0
