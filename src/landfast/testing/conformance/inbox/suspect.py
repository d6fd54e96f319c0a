"""Workbench: claim_suspect and has_suspects. A claim that expired is looked at alone."""

from __future__ import annotations

import asyncio

import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one, claim_suspect
from landfast.testing.factory import DELAY, LEASE, WORKER, deliveries, delivery, event_in, settlement, token


class SuspectConformance:
    async def test_nothing_ready_or_freshly_claimed_is_a_suspect(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(2))
        await claim(bench.inbox, 1)
        assert not await bench.inbox.has_suspects()
        assert await bench.inbox.claim_suspect(token=token(2), lease=LEASE) is None

    async def test_an_expired_claim_is_recovered_as_a_suspect(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.advance(LEASE + 1)
        assert await bench.inbox.has_suspects()
        suspect = await claim_suspect(bench.inbox, 2)
        assert (suspect.event_id, suspect.token, suspect.run) == (held.event_id, token(2), 1)
        assert suspect.suspect
        assert suspect.body == held.body
        assert not await bench.inbox.has_suspects()

    async def test_a_first_expiry_counts_no_crash_and_each_later_one_does(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED)
        counted = []
        for number in range(2, 6):
            await bench.advance(LEASE + 1)
            counted.append((await claim_suspect(bench.inbox, number)).crashes)
        assert counted == [0, 1, 2, 3]

    async def test_an_abandoned_claim_is_a_suspect_at_once(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        await bench.inbox.abandon(worker=WORKER)
        assert await bench.inbox.has_suspects()
        assert (await claim_suspect(bench.inbox, 2)).event_id == held.event_id

    async def test_suspects_come_alone_and_oldest_first(self, bench: Bench) -> None:
        for what in deliveries(4):
            await bench.inbox.record([what])
        await claim(bench.inbox, 1, limit=3)
        await bench.advance(LEASE + 1)
        assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == ["evt_0003"]
        assert [(await claim_suspect(bench.inbox, number)).key for number in (3, 4, 5)] == [
            "evt_0000",
            "evt_0001",
            "evt_0002",
        ]

    async def test_a_suspect_that_was_released_is_still_one(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED)
        for number in (2, 3):
            await bench.advance(LEASE + 1)
            held = await claim_suspect(bench.inbox, number)
        await bench.inbox.settle([settlement(held, Signal.RELEASE)])
        assert not await claim(bench.inbox, 4)
        assert await bench.inbox.has_suspects()
        again = await claim_suspect(bench.inbox, 5)
        assert (again.suspect, again.crashes) == (True, 1)

    @pytest.mark.parametrize("signal", [Signal.RETRY, Signal.POSTPONE])
    async def test_a_suspect_that_was_delayed_is_still_one_when_it_wakes(self, bench: Bench, signal: Signal) -> None:
        await event_in(bench.inbox, State.CLAIMED)
        for number in (2, 3):
            await bench.advance(LEASE + 1)
            held = await claim_suspect(bench.inbox, number)
        await bench.inbox.settle([settlement(held, signal, due_in=DELAY)])
        assert not await bench.inbox.has_suspects()
        await bench.advance(DELAY + 1)
        assert not await claim(bench.inbox, 4)  # wakes it, and leaves it to claim_suspect
        again = await claim_suspect(bench.inbox, 5)
        assert (again.suspect, again.crashes) == (True, 1)

    async def test_a_claim_in_a_group_that_was_released_in_time_is_no_suspect(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.READY)
        await bench.advance(LEASE + 1)
        assert not await bench.inbox.has_suspects()
        again = await claim_one(bench.inbox, 2)
        assert (again.event_id, again.suspect) == (held.event_id, False)

    async def test_a_suspect_is_leased_to_one_of_many(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(3))
        await claim(bench.inbox, 1, limit=3)
        await bench.advance(LEASE + 1)
        inboxes = [bench.inbox, await bench.another()]
        found = await asyncio.gather(
            *(inboxes[number % 2].claim_suspect(token=token(number), lease=LEASE) for number in range(2, 12))
        )
        keys = [one.key for one in found if one is not None]
        while late := await bench.inbox.claim_suspect(token=token(50), lease=LEASE):
            keys.append(late.key)  # a driver may pass over rows that a neighbour is claiming
        assert sorted(keys) == ["evt_0000", "evt_0001", "evt_0002"]

    async def test_a_replayed_suspect_is_under_no_suspicion(self, bench: Bench) -> None:
        await event_in(bench.inbox, State.CLAIMED, delivery())
        for number in (2, 3):
            await bench.advance(LEASE + 1)
            held = await claim_suspect(bench.inbox, number)
        await bench.inbox.settle([settlement(held, Signal.BURY)])
        await bench.inbox.replay([held.event_id], forced=False, who="ada")
        again = await claim_one(bench.inbox, 4)
        assert (again.run, again.suspect, again.crashes) == (2, False, 0)
