"""Whatever becomes of the Redis: slower, and never wrong. Each test proves that its fault fired."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from landfast.caches import redis_marks
from landfast.caches.upkeep import GLANCE_SECONDS
from landfast.domain.breaker import Breaker
from tests.caches.branch import branch, event_of, mark_of, standing_clock, until
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy
from tests.valkey import Valkey


@pytest.mark.req("R8", "R53")
async def test_killed_and_started_again_it_is_warmed_and_nothing_was_wrong_meanwhile(
    tmp_path: Path, server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        assert await one.record("a") == [True]
        await one.told()
        server.kill()
        assert await other.record("a") == [False], "the inbox knows it"
        assert await other.record("b") == [True]
        assert await one.record("b") == [False]
        assert (other.meter("shared_unanswered"), other.meter("inbox_hits")) == (2, 1)
        assert caplog.text.count("cache_unavailable") == 2  # once for each, not once for each request
        server.start()
        await one.believes()
        await until(lambda: len(server.marks()) == 2)
        assert set(server.kinds().values()) == {b"="}


@pytest.mark.req("R8")
async def test_flushed_it_is_warmed_from_the_inbox_at_the_next_look(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        keys = [f"k{number}" for number in range(1200)]
        await asyncio.gather(*[one.begin(key) for key in keys])
        await one.told()
        server.ask("FLUSHALL")
        assert server.ask("DBSIZE") == 0
        assert await one.record("new") == [True]
        await until(lambda: len(server.marks()) == 1201)
        await one.believes()
        assert server.ask("GET", server.ask("KEYS", "*:warm")[0]) == b"="
        async with branch(tmp_path, server.address) as other:
            await other.believes()
            assert other.epoch() == one.epoch()
            assert await other.record(*keys[:100]) == [False] * 100
            assert other.journal.batches == []


@pytest.mark.req("R8")
async def test_an_intake_that_starts_again_has_what_is_hot_in_its_own_memory(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        await one.record("a")
        await one.told()
    looks = server.calls("mget")
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        assert one.seen.has(mark_of("a"))
        assert server.calls("mget") == looks + 1, "its probe; nobody had to look"


async def test_of_several_intakes_one_warms(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        server.ask("FLUSHALL")
        pushes = server.calls("rpush")
        await asyncio.gather(one.record("b"), other.record("c"))
        await one.believes()
        await other.believes()
        assert pushes < server.calls("rpush") <= pushes + 3, "each hot event was told at most once"


@pytest.mark.req("R8", "R31")
async def test_two_seconds_of_latency_are_waited_for_once(
    tmp_path: Path,
    server: Valkey,
    budget: float,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = standing_clock()  # the breaker's time stands still: no probe is due
    async with branch(tmp_path, server.address, clock=clock) as one:
        await one.believes()
        assert await one.record("a") == [True]
        await one.told()
        looks = server.calls("mget")
        monkeypatch.setattr(redis_marks, "ANSWER_SECONDS", budget)
        server.ask("CLIENT", "PAUSE", int(PATIENCE_SECONDS * 1000), "WRITE")  # what may write waits, and so does a look
        for number in range(50):
            assert await one.record(f"k{number}") == [True]
        assert one.meter("shared_unanswered") == 50
        assert "TimeoutError" in caplog.text, "void: nobody waited"
        assert server.calls("mget") <= looks + 1, "one of fifty asked"
        server.ask("CLIENT", "UNPAUSE")
        monkeypatch.setattr(redis_marks, "ANSWER_SECONDS", PATIENCE_SECONDS)
        clock.advance(Breaker().shortest)
        await one.believes()
        await one.told()
        assert await one.record("z") == [True]
        assert one.meter("shared_misses") == 2


@pytest.mark.req("R8")
async def test_what_is_evicted_is_asked_of_the_inbox(tmp_path: Path, server: Valkey) -> None:
    server.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    server.ask("CONFIG", "SET", "maxmemory", server.ask("INFO", "memory")["used_memory"] + 800_000)
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        keys = [f"k{number}" for number in range(6_000)]
        new = await asyncio.gather(*[one.record(key) for key in keys])
        await one.told()
        assert server.ask("INFO", "stats")["evicted_keys"] > 0, "void: nothing was evicted"
        again = await asyncio.gather(*[other.record(key) for key in keys])
        assert all(each == [True] for each in new) and all(each == [False] for each in again)
        assert other.meter("inbox_hits") > 0


async def test_a_server_that_is_full_and_evicts_nothing_still_says_what_it_knows(
    tmp_path: Path, server: Valkey, caplog: pytest.LogCaptureFixture
) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        server.ask("CONFIG", "SET", "maxmemory", 1)
        assert await other.record("a") == [False] and other.meter("shared_hits") == 1
        for key in ("b", "c"):
            assert await one.record(key) == [True]
            await one.told()
            assert await other.record(key) == [False]
        await until(lambda: one.meter("shared_unwritten") == 2)
        assert caplog.text.count("cache_refuses_marks") == 2 and "OutOfMemory" in caplog.text  # once for each intake
        assert one.meter("shared_unanswered") == 0


async def test_a_server_that_became_a_replica_still_says_what_it_knows(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        server.ask("REPLICAOF", "127.0.0.1", "1")
        assert await other.record("a") == [False] and other.meter("shared_hits") == 1
        assert await one.record("b") == [True]
        await until(lambda: one.meter("shared_unwritten") == 1)
        assert await other.record("b") == [False]


@pytest.mark.req("R8")
async def test_foreign_data_under_our_keys_is_neither_believed_nor_an_obstacle(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        epoch = one.epoch()
        start = f"lf:{(await one.inbox.identity()).hex()}:{epoch.hex()}:"
        server.ask("SET", start + "mac:" + event_of("text").hex(), "known, surely")
        server.ask("RPUSH", start + "mac:" + event_of("list").hex(), "=")
        server.ask("SET", start + "mac:" + event_of("empty").hex(), "")
        for key in ("text", "list", "empty"):
            assert await one.record(key) == [True]
        await one.told()
        assert set(server.kinds().values()) == {b"="}, "they were overwritten"
        assert await other.record("text", "list", "empty") == [False] * 3 and not other.journal.batches
        server.ask("SET", start + "recent", "no list")
        assert await one.record("b") == [True]
        await until(lambda: one.meter("shared_unwritten") == 1)
        one.seen.clear()
        await one.believes()
        assert one.epoch() != epoch, "a list that cannot be read proves nothing"


@pytest.mark.req("R8", "R53")
async def test_a_cache_that_is_ahead_of_a_restored_inbox_swallows_nothing(tmp_path: Path, server: Valkey) -> None:
    file = tmp_path / "inbox.db"
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        assert await one.record("before") == [True]
    backup = file.read_bytes()
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        assert await one.record("after") == [True]
        await one.told()
        epoch = one.epoch()
    assert server.kinds()[event_of("after").hex().encode()] == b"=", "void: the cache is not ahead"
    restore(file, backup)
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        assert one.epoch() != epoch
        assert await one.record("after") == [True], "the event sent again is stored again"
        assert await one.record("before") == [False]


async def test_an_inbox_that_lost_its_tail_unnoticed_is_found_out_by_a_glance(tmp_path: Path, server: Valkey) -> None:
    clock = standing_clock()
    async with branch(tmp_path, server.address, clock=clock) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        epoch = one.epoch()
        lose(tmp_path / "inbox.db", "a")
        await asyncio.gather(*[other.begin(f"later_{number}") for number in range(300)])  # a second or two of traffic
        await other.told()
        assert one.seen.has(mark_of("a")), "void: it would not have been swallowed"
        clock.advance(GLANCE_SECONDS)
        one.seen._upkeep._is_wanted.set()
        await until(lambda: (now := one.seen._upkeep.believed()) is not None and now.epoch != epoch)
        assert await one.record("a") == [True]
        assert epoch != one.epoch()


async def test_a_list_that_was_evicted_proves_nothing_at_a_glance_either(tmp_path: Path, server: Valkey) -> None:
    clock = standing_clock()
    async with branch(tmp_path, server.address, clock=clock) as one:
        await one.believes()
        await one.record("a")
        await one.told()
        epoch = one.epoch()
        server.ask("DEL", f"lf:{(await one.inbox.identity()).hex()}:{epoch.hex()}:recent")
        lose(tmp_path / "inbox.db", "a")
        assert one.seen.has(mark_of("a")), "void: it would not have been swallowed"
        clock.advance(GLANCE_SECONDS)
        one.seen._upkeep._is_wanted.set()
        await until(lambda: (now := one.seen._upkeep.believed()) is not None and now.epoch != epoch)
        assert await one.record("a") == [True]


async def test_an_epoch_that_somebody_drew_and_did_not_begin_is_replaced_by_one_that_all_agree_on(
    tmp_path: Path, server: Valkey
) -> None:
    clock = standing_clock()
    async with branch(tmp_path, server.address, clock=clock) as one:
        await one.believes()
        old = one.epoch()
        drawn = await one.inbox.renew_epoch(old)
        clock.advance(GLANCE_SECONDS)
        one.seen._upkeep._is_wanted.set()
        # Its list is missing: whoever drew it died, or it was evicted. It cannot be believed, so another is drawn.
        await until(lambda: (now := one.seen._upkeep.believed()) is not None and now.epoch not in (old, drawn))
        async with branch(tmp_path, server.address) as other:
            await other.believes()
            assert other.epoch() == one.epoch() == await one.inbox.epoch()


async def test_what_is_heard_after_everything_was_forgotten_is_not_believed(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        asking = asyncio.create_task(other.seen.look([mark_of("a")]))
        await asyncio.sleep(0)
        other.seen.clear()
        assert not (await asking).known
        assert other.meter("shared_unanswered") == 1 and not other.seen.has(mark_of("a"))


async def test_what_was_not_told_before_everything_was_forgotten_is_never_told(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one:
        await one.believes()
        one.seen.remember([mark_of("lost with the tail")], events=[event_of("lost with the tail")])
        one.seen.clear()
        await one.believes()
        await one.told()
        assert not server.marks()


async def test_while_the_inbox_is_away_nothing_shared_is_believed(tmp_path: Path, server: Valkey) -> None:
    async with branch(tmp_path, server.address) as one, branch(tmp_path, server.address) as other:
        await one.believes()
        await other.believes()
        await one.record("a")
        await one.told()
        await other.inbox.close()
        other.seen.clear()
        assert not (await other.seen.look([mark_of("a")])).known
        await other.inbox.open()
        await other.believes()
        assert (await other.seen.look([mark_of("a")])).known


@pytest.mark.req("R53")
@pytest.mark.parametrize("fate", list(Fate), ids=lambda fate: fate.name)
async def test_a_conversation_that_breaks_off_is_carried_on_by_the_inbox(
    tmp_path: Path, server: Valkey, fate: Fate, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Proxy(server.port).running() as proxy, branch(tmp_path, f"redis://127.0.0.1:{proxy.port}") as one:
        await one.believes()
        proxy.strike(b"MGET", fate)
        with monkeypatch.context() as hurried:
            hurried.setattr(redis_marks, "ANSWER_SECONDS", 0.5)
            assert await one.record("a") == [True]
        assert proxy.struck.is_set(), "void"
        assert one.meter("shared_unanswered") == 1
        await one.believes()
        await one.told()
        assert await one.record("b") == [True]
        assert one.meter("shared_unanswered") == 1, "it was connected again"
        assert server.kinds()[event_of("a").hex().encode()] == b"="


@pytest.mark.parametrize("where", ["wrong password", "nobody there", "unknown host"])
async def test_a_server_that_cannot_be_used_is_a_warning_without_the_password(
    tmp_path: Path, server: Valkey, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server.ask("CONFIG", "SET", "requirepass", "right-horse")
    address = {
        "wrong password": f"redis://:wrong-horse@127.0.0.1:{server.port}/0",
        "nobody there": "redis://:wrong-horse@127.0.0.1:1/0",
        "unknown host": "redis://:wrong-horse@nowhere.invalid:6379/0",
    }[where]
    async with branch(tmp_path, address) as one:
        await until(lambda: "cache_unavailable" in caplog.text)
        assert await one.record("a") == [True]
        assert await one.record("a") == [False]
    assert "horse" not in caplog.text


def restore(file: Path, backup: bytes) -> None:
    for leftover in file.parent.glob(f"{file.name}*"):
        leftover.unlink()
    file.write_bytes(backup)


def lose(file: Path, key: str) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        for table in ("work", "body", "identity"):
            db.execute(f"DELETE FROM {table} WHERE event_id = ?", (event_of(key),))
