"""The shared seen cache while all is well: what is known, by whom, and at what price."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from landfast.caches import redis_marks, upkeep
from landfast.caches.redis_marks import RedisMarks, Timeline
from landfast.domain.ids import InboxId, full_mark
from landfast.intake.durability.remembering import RememberingJournal
from tests.caches.branch import Branch, branch, delivery, event_of, mark_of, until
from tests.patience import PATIENCE_SECONDS
from tests.valkey import Valkey


@pytest.mark.req("R8")
async def test_what_one_intake_stored_is_a_duplicate_at_another_without_a_statement_to_the_inbox(
    tmp_path: Path, server: Valkey
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        assert await one.record("a") == [True]
        await one.told()
        assert await other.record("a") == [False]
        assert other.journal.batches == []
        assert other.meter("shared_hits") == 1 and one.meter("shared_misses") == 1
        # From now on it needs to ask nobody.
        assert other.seen.has(mark_of("a"))


async def test_intakes_that_start_at_the_same_moment_agree(tmp_path: Path, server: Valkey) -> None:
    async with AsyncExitStack() as stack:
        several = [await stack.enter_async_context(branch(tmp_path, server.address)) for _ in range(4)]
        await asyncio.gather(*[one.believes() for one in several])
        assert len({one.epoch() for one in several}) == 1


async def test_a_batch_costs_one_round_trip(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        looks = server.calls("mget")
        keys = [f"k{number}" for number in range(300)]
        first = one.begin("first")
        await asyncio.gather(first, *[one.begin(key) for key in keys])
        assert [len(batch) for batch in one.journal.batches] == [301]
        assert server.calls("mget") == looks + 1
        await one.told()
        assert len(server.marks()) == 301


async def test_only_what_the_inbox_alone_knows_is_counted_as_its_hit(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.inbox.record([delivery("a")])  # by somebody who shares nothing
        assert await other.record("a") == [False]
        assert (other.meter("inbox_hits"), other.meter("shared_misses")) == (1, 1)
        await other.told()
        assert await one.record("a") == [False]
        assert (one.meter("inbox_hits"), one.meter("shared_hits")) == (0, 1)


async def test_a_request_of_which_one_event_is_new_is_recorded_whole(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        assert await other.record("a", "b") == [False, True]
        assert [len(batch) for batch in other.journal.batches] == [2]


@pytest.mark.req("R8")
async def test_an_in_flight_mark_alone_never_answers(tmp_path: Path, server: Valkey) -> None:
    """The intake that set it is dead: it will never commit, and its twin is stored by the other."""
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        await die_after_marking(one.epoch(), await one.inbox.identity(), server)
        assert server.marks()[event_of("a").hex().encode()].startswith(b"~")
        assert await one.record("a") == [True]
        assert one.meter("shared_in_flight") == 2 and len(one.journal.batches) == 1
        assert await one.inbox.known([event_of("a")])


async def test_a_twin_waits_for_the_other_intake_and_holds_up_nobody(
    tmp_path: Path, server: Valkey, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        one.journal.gate.clear()
        first = one.begin("a")
        await until(lambda: bool(one.journal.batches))  # its mark is there, its COMMIT is not
        come_again = other.group._come_again

        async def come_later(twins: Sequence[Any]) -> None:
            await asyncio.wait([first])  # or it would come again, some milliseconds later, before we have looked
            await come_again(twins)

        monkeypatch.setattr(other.group, "_come_again", come_later)
        twin, neighbour = other.begin("a"), other.begin("b")
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                assert [row.is_new for row in await neighbour] == [True]  # type: ignore[union-attr]
            assert not twin.done() and other.meter("shared_in_flight") == 1
        finally:
            one.journal.gate.set()
        await first
        outcome = await twin
        assert [row.is_new for row in outcome] == [False]  # type: ignore[union-attr]
        # Whether it heard of the COMMIT in time or asked the inbox itself, it was answered after it.
        assert await one.inbox.known([event_of("a")])


async def test_closing_waits_for_a_twin_that_waits(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        await die_after_marking(one.epoch(), await one.inbox.identity(), server)
        twin = one.begin("a")
        await until(lambda: one.meter("shared_in_flight") == 1)
        await one.group.close()
        assert twin.done()


async def test_what_was_committed_while_it_waited_is_answered_without_the_inbox(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        one.journal.gate.clear()
        first = one.begin("a")
        await until(lambda: bool(one.journal.batches))
        twins = [one.begin("a") for _ in range(63)]
        one.journal.gate.set()
        await first
        assert {row.is_new for outcome in await asyncio.gather(*twins) for row in outcome} == {False}  # type: ignore[union-attr]
        assert len(one.journal.batches) == 1 and one.meter("local_hits") == 63


@pytest.mark.req("R8")
async def test_the_cache_is_written_only_after_the_commit(tmp_path: Path, server: Valkey) -> None:
    """An intake that dies after it looked and before its COMMIT leaves nothing that would swallow the retry."""
    begin, go = os.pipe()
    pid = os.fork()  # before there is any thread
    if pid == 0:
        try:
            os.read(begin, 1)
            asyncio.run(_die_before_the_commit(tmp_path, server))
        finally:
            os._exit(1)
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        epoch = one.epoch()
        os.write(go, b"!")
        _, ended = os.waitpid(pid, 0)  # noqa: ASYNC222 - there is nothing else to do meanwhile
        assert os.WIFSIGNALED(ended), "void: it did not die"
        assert event_of("a").hex().encode() in server.marks(), "void: it died before it looked"
        assert await one.record("a") == [True]
        assert one.epoch() == epoch, "void: it was not asked in the same timeline"
    for end in (begin, go):
        os.close(end)


async def test_a_strict_mark_is_remembered_and_its_event_is_what_the_inbox_is_asked_for(
    tmp_path: Path, server: Valkey
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        mark = full_mark(event_of("a"), body=b"body")
        await one.inbox.record([delivery("a")])
        one.seen.remember([mark], events=[event_of("a")])
        await one.told()
        assert (await other.seen.look([mark, mark_of("a")])).known == {mark}
        one.seen.clear()
        await one.believes()
        assert one.epoch() == other.epoch()


async def test_what_is_durable_elsewhere_is_known_for_a_while_and_not_asked_of_the_inbox(
    tmp_path: Path, server: Valkey
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        one.seen.remember([mark_of("a")], events=[event_of("a")], in_inbox=False)
        await one.told()
        assert await other.record("a") == [False]
        (key,) = server.ask("KEYS", f"*:{event_of('a').hex()}")
        assert 0 < server.ask("TTL", key) <= 600
        epoch = one.epoch()
        one.seen.clear()
        await one.believes()
        assert one.epoch() == epoch


async def test_what_a_drainer_brought_into_the_inbox_is_known_for_long_and_asked_of_the_inbox(
    tmp_path: Path, server: Valkey
) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        one.seen.remember([mark_of("a")], events=[event_of("a")], in_inbox=False)
        await RememberingJournal(one.inbox, one.seen).record([delivery("a")])
        await one.told()
        (key,) = server.ask("KEYS", f"*:{event_of('a').hex()}")
        assert server.ask("TTL", key) > redis_marks.ELSEWHERE_SECONDS
        (recent,) = server.ask("KEYS", "*:recent")
        assert server.ask("LINDEX", recent, 0) == event_of("a")


async def test_an_orderly_stop_tells_what_it_has_not_told(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        await fall_asleep(one)
        await one.record("a")
        assert server.marks()[event_of("a").hex().encode()].startswith(b"~")
    assert server.kinds()[event_of("a").hex().encode()] == b"="


async def test_more_than_the_queue_holds_is_dropped_oldest_first_and_counted(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        await fall_asleep(one)
        keys = [f"k{number}" for number in range(upkeep.QUEUED_MARKS + 7)]
        one.seen.remember([mark_of(key) for key in keys], events=[event_of(key) for key in keys])
        assert one.meter("shared_unwritten") == 7
        assert one.seen._upkeep._untold[0][0] == mark_of("k7")


async def _die_before_the_commit(folder: Path, server: Valkey) -> None:
    async with branch(folder, server.address) as one:
        await one.believes()
        one.journal.gate.clear()
        one.begin("a")
        await until(lambda: bool(one.journal.batches))
        await one.told()
        os.kill(os.getpid(), 9)


async def die_after_marking(epoch: bytes, inbox: InboxId, server: Valkey) -> None:
    """What an intake leaves behind that was killed between its look and its COMMIT."""
    dead = RedisMarks(server.address, boot=b"dead")
    await dead.connect()
    found, _ = await dead.look(Timeline.under(b"", inbox, epoch), [mark_of("a")])
    assert found == [None]
    await dead.close()


async def fall_asleep(one: Branch) -> None:
    """Nobody tends its cache any more."""
    task = one.seen._upkeep._task
    assert task is not None
    task.cancel()
    await asyncio.wait([task])
