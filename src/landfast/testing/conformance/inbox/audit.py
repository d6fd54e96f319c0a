"""Auditable: the lines that made events done, how far they are complete, and the marks of what was proven."""

from __future__ import annotations

from collections import Counter

import pytest

from landfast.domain.audit import Mark
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.ports.audit import MARKS_KEPT
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench, claim, claim_one
from landfast.testing.factory import deliveries, delivery, event_in, settlement

BOTH = (HandlerName("create_order"), HandlerName("update_crm"))


class AuditConformance:
    async def test_the_line_that_finishes_an_event_names_its_handlers(self, bench: Bench) -> None:
        await bench.inbox.record([delivery("evt_1")])
        held = await claim_one(bench.inbox, 1)
        await bench.inbox.settle([settlement(held, Signal.FINISH, handlers=BOTH)])
        newest = await bench.inbox.newest_line()
        (finished,) = await bench.inbox.finished(after=0, upto=newest)
        assert (finished.source, finished.key, finished.run, finished.handlers) == ("shop", "evt_1", 1, BOTH)
        assert finished.event_id == held.event_id
        assert [found async for found in bench.inbox.walk_done(Filter(), chunk=5)] == [[finished]]

    async def test_only_the_line_that_an_event_is_done_by_counts(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(2))
        await _finish_all(bench.inbox, 1)
        again, done = deliveries(2)
        first = await bench.inbox.newest_line()
        await bench.inbox.replay([again.event_id], forced=False, who="ada")
        assert [one.key for one in await bench.inbox.finished(after=0, upto=first)] == [done.key]
        await _finish_all(bench.inbox, 2)
        newest = await bench.inbox.newest_line()
        assert [(one.key, one.run) for one in await bench.inbox.finished(after=first, upto=newest)] == [(again.key, 2)]

    @pytest.mark.parametrize("forced", [False, True])
    async def test_a_finished_run_is_as_forced_as_its_replay_also_after_a_recovery(
        self,
        bench: Bench,
        forced: bool,  # noqa: FBT001 - pytest passes it by name
    ) -> None:
        held = await event_in(bench.inbox, State.DONE)
        await bench.inbox.replay([held.event_id], forced=forced, who="ada")
        await _finish_all(bench.inbox, 2)
        for number in (3, 4):
            (finished,) = await bench.inbox.finished(after=0, upto=await bench.inbox.newest_line())
            assert (finished.run, finished.forced) == (2, forced)
            assert [found async for found in bench.inbox.walk_done(Filter(), chunk=5)] == [[finished]]
            assert await bench.inbox.recover([held.event_id], who="ada") == 1
            await _finish_all(bench.inbox, number)

    async def test_finished_lines_are_found_by_range_oldest_first(self, bench: Bench) -> None:
        await bench.inbox.record(deliveries(7))
        await _finish_all(bench.inbox, 1)
        newest = await bench.inbox.newest_line()
        parts = [await bench.inbox.finished(after=after, upto=after + 2) for after in range(0, newest, 2)]
        seqs = [one.seq for part in parts for one in part]
        assert len(seqs) == 7
        assert seqs == sorted(seqs)

    async def test_everything_that_was_committed_is_complete(self, bench: Bench) -> None:
        assert await bench.inbox.newest_line() == await bench.inbox.complete_to() == 0
        await event_in(bench.inbox, State.DONE)
        assert await bench.inbox.newest_line() == await bench.inbox.complete_to() > 0

    async def test_marks_are_kept_newest_first_and_those_beyond_a_new_one_are_forgotten(self, bench: Bench) -> None:
        inbox = await bench.inbox.identity()
        assert list(await bench.inbox.audit_marks(inbox)) == []
        marks = [Mark(seq, bytes([seq]) * 8) for seq in (10, 20, 30)]
        for mark in marks:
            await bench.inbox.set_audit_mark(inbox, mark)
        assert list(await (await bench.another()).audit_marks(inbox)) == marks[::-1]
        other = Mark(20, b"restored")
        await bench.inbox.set_audit_mark(inbox, other)
        assert list(await bench.inbox.audit_marks(inbox)) == [other, marks[0]]

    async def test_a_mark_moves_from_the_one_that_was_seen_and_from_no_other(self, bench: Bench) -> None:
        inbox = await bench.inbox.identity()
        first, back, ahead = Mark(10, b"first..."), Mark(5, b"back...."), Mark(20, b"ahead...")
        assert not await bench.inbox.move_audit_mark(inbox, first, seen=ahead)
        assert await bench.inbox.move_audit_mark(inbox, first, seen=None)
        await (await bench.another()).set_audit_mark(inbox, back)
        for seen in (None, first, Mark(5, b"other...")):
            assert not await bench.inbox.move_audit_mark(inbox, ahead, seen=seen)
        assert list(await bench.inbox.audit_marks(inbox)) == [back]
        assert await bench.inbox.move_audit_mark(inbox, ahead, seen=back)
        assert list(await bench.inbox.audit_marks(inbox)) == [ahead, back]

    async def test_a_limited_number_of_marks_is_kept(self, bench: Bench) -> None:
        inbox = await bench.inbox.identity()
        for seq in range(1, MARKS_KEPT + 4):
            await bench.inbox.set_audit_mark(inbox, Mark(seq, b"12345678"))
        found = [mark.seq for mark in await bench.inbox.audit_marks(inbox)]
        assert found == list(range(MARKS_KEPT + 3, 3, -1))

    async def test_a_recount_looks_up_every_event_there_is(self, bench: Bench) -> None:
        kinds = [State.DELAYED, State.UNHANDLED, State.DONE, State.DONE, State.DEAD, State.HELD, State.READY]
        for number, (state, what) in enumerate(zip(kinds, deliveries(len(kinds)), strict=True)):
            await event_in(bench.inbox, state, what, number=number)
        counted: Counter[State | None] = Counter()
        async for chunk in bench.inbox.recount():
            counted.update(chunk)
        assert counted == Counter(kinds)


async def _finish_all(inbox: Inbox, number: int) -> None:
    held = await claim(inbox, number, limit=100)
    assert all(await inbox.settle([settlement(one, Signal.FINISH, handlers=BOTH) for one in held]))
