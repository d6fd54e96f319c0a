"""Workbench: what is unhandled is counted as it comes and goes, and requeued by its very type."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State, after
from landfast.domain.unhandled import UnhandledCount
from landfast.testing.conformance.inbox.bench import Bench, claim
from landfast.testing.conformance.inbox.grid import SENT, send
from landfast.testing.factory import deliveries, delivery, event_in, settlement, token

LONGEST_SOURCE = "\U0001f33a" * 100
LONGEST_TYPE = "".join(chr(0x1F300 + number % 768) for number in range(512))
"""As long as a row may be, in characters of four bytes: what an index has to take."""
_DONE = Filter(state=State.DONE)


class UnhandledConformance:
    @pytest.mark.parametrize(("state", "signal"), SENT, ids=[f"{one} {two}" for one, two in SENT])
    async def test_every_move_keeps_the_counts(self, bench: Bench, state: State, signal: Signal) -> None:
        await event_in(bench.inbox, State.UNHANDLED, delivery("another", type="invoice.paid"))
        held = await event_in(bench.inbox, state, delivery("this", type="order.created"), number=2)
        before = [UnhandledCount("shop", "order.created", 1)] if state is State.UNHANDLED else []
        assert list(await bench.inbox.unhandled()) == [UnhandledCount("shop", "invoice.paid", 1), *before]
        assert await send(bench, held, state, signal)
        now = [UnhandledCount("shop", "order.created", 1)] if after(state, signal) is State.UNHANDLED else []
        assert list(await bench.inbox.unhandled()) == [UnhandledCount("shop", "invoice.paid", 1), *now]

    async def test_counts_are_by_source_and_type_and_agree_with_the_census(self, bench: Bench) -> None:
        kinds = [("shop", "b"), ("shop", "a"), ("bank", "b"), ("shop", "b")]
        for number, (source, kind) in enumerate(kinds):
            what = delivery(f"evt_{number}", source=source, type=kind)
            await event_in(bench.inbox, State.UNHANDLED, what, number=number)
        counts = [UnhandledCount("bank", "b", 1), UnhandledCount("shop", "a", 1), UnhandledCount("shop", "b", 2)]
        assert list(await bench.inbox.unhandled()) == counts
        assert (await bench.inbox.census()).states[State.UNHANDLED] == 4
        assert list(await (await bench.another()).unhandled()) == counts

    async def test_batches_that_shelve_the_same_types_at_once_are_all_counted(self, bench: Bench) -> None:
        kinds = ["one", "two", "three"]
        batch = [msgspec.structs.replace(what, type=kinds[place % 3]) for place, what in enumerate(deliveries(60))]
        await bench.inbox.record(batch)
        inboxes = [bench.inbox, await bench.another(), await bench.another()]
        shares = [await claim(inbox, number, limit=20) for number, inbox in enumerate(inboxes)]
        # Each in an order of its own: whoever takes locks in the order of its batch would meet another here.
        signals = [Signal.NO_HANDLER, Signal.DISMISS, Signal.NO_HANDLER]
        settling = [
            inbox.settle(
                [settlement(one, signals[place % 3]) for place, one in enumerate(share[number:] + share[:number])]
            )
            for number, (inbox, share) in enumerate(zip(inboxes, map(list, shares), strict=True))
        ]
        assert all(all(took) for took in await asyncio.gather(*settling))
        counted = sum(one.count for one in await bench.inbox.unhandled())
        assert counted == (await bench.inbox.census()).states[State.UNHANDLED] == 39

    async def test_requeueing_takes_one_source_and_one_type_newest_first(self, bench: Bench) -> None:
        kinds = ["order.created", "order.paid", "Order.created", "order_created", "order.created"]
        for number, (what, kind) in enumerate(zip(deliveries(5), kinds, strict=True)):
            await event_in(bench.inbox, State.UNHANDLED, msgspec.structs.replace(what, type=kind), number=number)
        assert await bench.inbox.requeue(source="bank", type="order.created", limit=10) == 0
        for other in ("*", "order.*", "order%", "order?created", "ORDER.CREATED", "order.created\\"):
            assert await bench.inbox.requeue(source="shop", type=other, limit=10) == 0, other
        assert await bench.inbox.requeue(source="shop", type="order.created", limit=1) == 1
        assert [one.key for one in await claim(bench.inbox, 10, limit=10)] == ["evt_0004"]
        assert await bench.inbox.requeue(source="shop", type="order.created", limit=10) == 1
        again = await claim(bench.inbox, 11, limit=10)
        assert [(one.key, one.run) for one in again] == [("evt_0000", 1)]
        assert await bench.inbox.requeue(source="shop", type="order.created", limit=10) == 0

    async def test_workers_that_requeue_at_once_take_each_event_once(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(60))
        claims = await claim(bench.inbox, 1, limit=60)
        await bench.inbox.settle([settlement(one, Signal.NO_HANDLER) for one in claims])
        inboxes = [bench.inbox, await bench.another(), await bench.another()]
        asked = [inbox.requeue(source="shop", type="order.created", limit=30) for inbox in inboxes]
        taken = sum(await asyncio.gather(*asked))
        # Whoever meets another's lock passes over it, and so may find fewer.
        while more := await bench.inbox.requeue(source="shop", type="order.created", limit=30):
            taken += more
        assert taken == 60
        assert len({one.event_id for one in await claim(bench.inbox, 2, limit=100)}) == 60
        assert list(await bench.inbox.unhandled()) == []

    async def test_the_longest_names_are_counted_and_requeued(self, bench: Bench) -> None:
        what = delivery(source=LONGEST_SOURCE, type=LONGEST_TYPE)
        await event_in(bench.inbox, State.UNHANDLED, what)
        assert list(await bench.inbox.unhandled()) == [UnhandledCount(LONGEST_SOURCE, LONGEST_TYPE, 1)]
        assert await bench.inbox.requeue(source=LONGEST_SOURCE, type=LONGEST_TYPE, limit=10) == 1
        assert len(await claim(bench.inbox, 2)) == 1

    async def test_a_dismissal_says_why_it_is_done(self, bench: Bench) -> None:
        held = await event_in(bench.inbox, State.CLAIMED)
        assert list(await bench.inbox.settle([settlement(held, Signal.DISMISS, reason="ignored")])) == [True]
        (found,) = await bench.inbox.find(_DONE, limit=10)
        assert (found.state, found.reason) == (State.DONE, "ignored")
        assert await bench.inbox.claim_suspect(token=token(3), lease=30) is None
