"""Workbench: claim_event, by whoever processes an event where it came in."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.testing.conformance.inbox.bench import Bench, claim, look, state_of
from landfast.testing.factory import LEASE, delivery, event_in, settlement, token

ROUTE = "route"


class ClaimEventConformance:
    async def test_this_very_event_is_claimed_and_no_older_one(self, bench: Bench) -> None:
        await bench.inbox.record([delivery("older")])
        wanted = delivery("wanted")
        await bench.inbox.record([wanted])
        claimed = await bench.inbox.claim_event(wanted.event_id, token=token(1), lease=LEASE, held_for=ROUTE)
        assert claimed is not None
        assert (claimed.key, claimed.token, claimed.body) == ("wanted", token(1), wanted.body)
        assert [one.key for one in await claim(bench.inbox, 2, limit=10)] == ["older"]
        assert await bench.inbox.settle([settlement(claimed, Signal.DISMISS)]) == [True]

    async def test_of_several_who_ask_at_the_same_time_one_gets_it(self, bench: Bench) -> None:
        inboxes = [bench.inbox, await bench.another()]
        wanted = delivery()
        await bench.inbox.record([wanted])
        asked = [
            inboxes[n % 2].claim_event(wanted.event_id, token=token(n), lease=LEASE, held_for=ROUTE) for n in range(10)
        ]
        assert len([one for one in await asyncio.gather(*asked) if one is not None]) == 1

    async def test_a_lease_that_has_expired_is_taken_over_and_counts_nothing(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        assert await bench.inbox.claim_event(held.event_id, token=token(8), lease=LEASE, held_for=ROUTE) is None
        await bench.advance(LEASE + 1)
        taken = await bench.inbox.claim_event(held.event_id, token=token(9), lease=LEASE, held_for=ROUTE)
        assert taken is not None
        assert (taken.token, taken.crashes, dict(taken.tries)) == (token(9), 0, {})
        assert await bench.inbox.settle([settlement(held, Signal.DISMISS)]) == [False]

    async def test_what_is_held_for_this_reason_is_admitted_first_and_no_worker_sees_it(self, bench: Bench) -> None:
        wanted = msgspec.structs.replace(delivery(), hold=ROUTE)
        await bench.inbox.record([wanted])
        assert not await claim(bench.inbox, 1, limit=10)
        claimed = await bench.inbox.claim_event(wanted.event_id, token=token(2), lease=LEASE, held_for=ROUTE)
        assert claimed is not None
        assert claimed.body == wanted.body
        assert [line.signal for line in (await look(bench.inbox, wanted.event_id)).history] == [Signal.ADMIT]

    async def test_an_unhandled_one_is_requeued_first(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.UNHANDLED)
        claimed = await bench.inbox.claim_event(held.event_id, token=token(9), lease=LEASE, held_for=ROUTE)
        assert claimed is not None
        assert claimed.run == held.run
        record = await look(bench.inbox, held.event_id)
        assert [line.signal for line in record.history][-1] is Signal.REQUEUE
        assert not await bench.inbox.unhandled()

    @pytest.mark.parametrize("state", [State.DELAYED, State.HELD, State.DONE, State.DEAD])
    async def test_one_that_waits_for_something_else_stays_as_it_is(self, bench: Bench, state: State) -> None:
        held = await event_in(bench.inbox, state)
        before = await look(bench.inbox, held.event_id)
        assert await bench.inbox.claim_event(held.event_id, token=token(9), lease=LEASE, held_for=ROUTE) is None
        assert (
            await bench.inbox.claim_event(delivery("unknown").event_id, token=token(9), lease=LEASE, held_for=ROUTE)
            is None
        )
        assert await state_of(bench.inbox, held.event_id) is state
        assert await look(bench.inbox, held.event_id) == before
