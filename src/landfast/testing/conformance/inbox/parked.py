"""Parked events: they wait for a reason, until somebody stirs those who wait for it, or until they are due."""

from __future__ import annotations

from datetime import UTC, datetime

from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Claim, Tries
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, look, state_of
from landfast.testing.factory import DELAY, deliveries, delivery, settlement

ORDER = "lifecycle:order:1"


class ParkedConformance:
    async def test_what_is_parked_for_a_reason_is_stirred_and_nothing_else(self, bench: Bench) -> None:
        first, other = await _parked(bench, "evt_1", ORDER), await _parked(bench, "evt_2", "lifecycle:order:2")
        assert await bench.inbox.stir(["lifecycle:order:3"]) == 0
        assert await bench.inbox.stir([ORDER, ORDER]) == 1
        assert [one.event_id for one in await claim(bench.inbox, 9, limit=10)] == [first.event_id]
        assert await state_of(bench.inbox, other.event_id) is State.PARKED
        lines = (await look(bench.inbox, first.event_id)).history
        assert [(line.signal, line.state) for line in lines] == [
            (Signal.PARK, State.PARKED),
            (Signal.STIR, State.READY),
        ]

    async def test_nothing_is_stirred_for_no_reason(self, bench: Bench) -> None:
        await _parked(bench, "evt_1", ORDER)
        assert await bench.inbox.stir([]) == 0

    async def test_parked_events_are_stirred_oldest_first(self, bench: Bench) -> None:
        batch = deliveries(5)
        await bench.inbox.record(batch)
        held = await claim(bench.inbox, 1, limit=5)
        parked = [settlement(one, Signal.PARK, due_in=DELAY, reason=ORDER) for one in held]
        assert all(await bench.inbox.settle(parked))
        assert await bench.inbox.stir([ORDER]) == 5
        assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == [what.key for what in batch]

    async def test_what_nobody_stirs_is_ready_when_it_is_due(self, bench: Bench) -> None:
        parked = await _parked(bench, "evt_1", ORDER)
        await bench.advance(DELAY - 1)
        assert not await claim(bench.inbox, 2)
        await bench.advance(2)
        assert (await claim_one(bench.inbox, 3)).event_id == parked.event_id

    async def test_what_is_parked_after_it_is_not_stirred(self, bench: Bench) -> None:
        assert await bench.inbox.stir([ORDER]) == 0
        parked = await _parked(bench, "evt_1", ORDER)
        assert await state_of(bench.inbox, parked.event_id) is State.PARKED

    async def test_tries_survive_a_parking(self, bench: Bench) -> None:
        tries = {HandlerName("refund"): Tries(2, 1.5, parked=datetime(2026, 11, 17, 12, tzinfo=UTC))}
        await bench.inbox.record([delivery("evt_1")])
        held = await claim_one(bench.inbox, 1)
        assert all(await bench.inbox.settle([settlement(held, Signal.PARK, due_in=DELAY, reason=ORDER, tries=tries)]))
        await bench.inbox.stir([ORDER])
        assert dict((await claim_one(bench.inbox, 2)).tries) == tries


async def _parked(bench: Bench, key: str, reason: str) -> Claim:
    await bench.inbox.record([delivery(key)])
    held = await claim_one(bench.inbox, 1)
    assert all(await bench.inbox.settle([settlement(held, Signal.PARK, due_in=DELAY, reason=reason)]))
    return held
