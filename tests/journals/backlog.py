"""What every backlog must do, whoever holds the records: run by the spool's tests and the broker's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

import msgspec

from landfast.domain.delivery import Delivery
from landfast.ports.backlog import Backlog, Taken
from landfast.ports.journal import Journal
from landfast.testing.factory import DAWN, deliveries
from tests.patience import PATIENCE_SECONDS

PATIENCE = PATIENCE_SECONDS
"""Seconds: some give back what was taken only after a while."""


class Held(Protocol):
    """A journal and the backlog behind it."""

    @property
    def journal(self) -> Journal: ...

    @property
    def backlog(self) -> Backlog: ...


class Bench(Protocol):
    def opened(self) -> AbstractAsyncContextManager[Held]:
        """Open it; a second time: as a process does that starts after the first has ended."""
        ...

    def aside(self) -> Any:
        """What was set aside, as bytes that hold the bodies; may be a coroutine."""
        ...


class BacklogSuite:
    """Every sentence of `ports.backlog`. Subclasses have a fixture `bench`."""

    async def test_what_was_recorded_is_taken_oldest_first(self, bench: Bench) -> None:
        async with bench.opened() as held:
            wanted = deliveries(20)
            for each in wanted:
                (recorded,) = await held.journal.record([each])
                assert (recorded.event_id, recorded.is_new, recorded.in_inbox) == (each.event_id, True, False)
            assert of(await taken(held.backlog, 20)) == wanted

    async def test_an_empty_one_gives_nothing(self, bench: Bench) -> None:
        async with bench.opened() as held:
            assert list(await held.backlog.take(500)) == []

    async def test_about_as_many_are_taken_as_were_asked_for(self, bench: Bench) -> None:
        async with bench.opened() as held:
            await held.journal.record(deliveries(30))
            first = await held.backlog.take(10)
            assert 0 < len(of(first)) <= 12
            await held.backlog.forget(first)
            assert len(of(await taken(held.backlog, 30 - len(of(first))))) == 30 - len(of(first))

    async def test_what_is_forgotten_is_not_taken_again_by_anybody(self, bench: Bench) -> None:
        async with bench.opened() as held:
            await held.journal.record(deliveries(10))
            first = await taken(held.backlog, 10)
            await held.backlog.forget(first)
            assert list(await held.backlog.take(500)) == []
        async with bench.opened() as held:
            assert list(await held.backlog.take(500)) == []

    async def test_what_is_given_back_is_taken_again(self, bench: Bench) -> None:
        async with bench.opened() as held:
            wanted = deliveries(10)
            await held.journal.record(wanted)
            await held.backlog.give_back(await taken(held.backlog, 10))
            assert ids(of(await taken(held.backlog, 10))) == ids(wanted)

    async def test_what_was_taken_and_not_settled_is_taken_by_the_next_process(self, bench: Bench) -> None:
        wanted = deliveries(10)
        async with bench.opened() as held:
            await held.journal.record(wanted)
            await taken(held.backlog, 10)
        async with bench.opened() as held:
            assert ids(of(await taken(held.backlog, 10))) == ids(wanted)

    async def test_one_that_is_set_aside_is_kept_and_those_behind_it_go_on(self, bench: Bench) -> None:
        wanted = deliveries(3)
        async with bench.opened() as held:
            await held.journal.record(wanted)
            for each in await taken(held.backlog, 3):
                if each.deliveries[0] == wanted[1]:
                    await held.backlog.set_aside(each, "refused")
                else:
                    await held.backlog.forget([each])
            assert list(await held.backlog.take(500)) == []
            aside = bench.aside()
            assert wanted[1].body in (await aside if asyncio.iscoroutine(aside) else aside)
        async with bench.opened() as held:
            assert list(await held.backlog.take(500)) == []

    async def test_of_a_request_only_those_deliveries_are_kept_that_are_set_aside(self, bench: Bench) -> None:
        together = [msgspec.structs.replace(each, received_at=DAWN, headers=b"[]") for each in deliveries(3)]
        async with bench.opened() as held:
            await held.journal.record(together)
            (request,) = await taken(held.backlog, 3)
            await held.backlog.set_aside(request._replace(deliveries=[together[1]]), "refused")
            assert list(await held.backlog.take(500)) == []
            found = bench.aside()
            kept = await found if asyncio.iscoroutine(found) else found
            assert [each.body in kept for each in together] == [False, True, False]
        async with bench.opened() as held:
            assert list(await held.backlog.take(500)) == []

    async def test_every_byte_and_every_field_comes_back(self, bench: Bench) -> None:
        (what,) = deliveries(1, source="shöp", entity="cus_\u2603", body=bytes(range(256)), headers=b'[["a","\xff"]]')
        async with bench.opened() as held:
            await held.journal.record([what])
            assert of(await taken(held.backlog, 1)) == [what]


async def taken(backlog: Backlog, count: int) -> list[Taken]:
    """So many deliveries, in as many takes as it needs."""
    found: list[Taken] = []
    async with asyncio.timeout(PATIENCE):
        while len(of(found)) < count:
            found += await backlog.take(count - len(of(found)))
            await asyncio.sleep(0)
    return found


def of(taken: Sequence[Taken]) -> list[Delivery]:
    return [delivery for each in taken for delivery in each.deliveries]


def ids(deliveries: Sequence[Delivery]) -> list[bytes]:
    return sorted(delivery.event_id for delivery in deliveries)
