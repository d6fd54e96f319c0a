"""RoomyInbox: how much room an inbox takes, and making some."""

from __future__ import annotations

from contextlib import suppress

from landfast.domain.errors import UserError
from landfast.testing.conformance.inbox.bench import Bench
from landfast.testing.factory import deliveries, delivery


class RoomConformance:
    async def test_what_is_stored_takes_room(self, bench: Bench) -> None:
        before = await bench.inbox.room()
        await bench.inbox.record(deliveries(200, body=b"x" * 2_000))
        after = await bench.inbox.room()
        assert after.used > before.used > 0
        assert 0 <= after.free_inside <= after.used

    async def test_compact_loses_nothing_or_says_that_it_is_of_no_use(self, bench: Bench) -> None:
        stored = deliveries(200, body=b"x" * 2_000)
        await bench.inbox.record(stored)
        with suppress(UserError):
            assert (await bench.inbox.compact(report=lambda *_: None)).given_back >= 0
        assert await bench.inbox.known([one.event_id for one in stored]) == {one.event_id for one in stored}
        assert await bench.inbox.problems() == []

    async def test_who_is_alone_writes_as_ever_and_others_do_so_later(self, bench: Bench) -> None:
        other = await bench.another()
        async with bench.inbox.alone():
            assert (await bench.inbox.record([delivery("within")]))[0].is_new
        assert [one.is_new for one in await other.record([delivery("within"), delivery("after")])] == [False, True]
