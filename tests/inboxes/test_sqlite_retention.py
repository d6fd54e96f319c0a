"""What is old leaves the SQLite inbox in small steps; what is free in the file is used again, or goes back to the disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import apsw
import pytest

from landfast.domain.errors import TurnLostError, UserError
from landfast.domain.lifecycle import Signal, State
from landfast.domain.retention import DAY_SECONDS, Ages, Retention
from landfast.inboxes.sqlite import compact, moves, retention
from landfast.testing.factory import delivery, event_in, settlement, token
from tests.inboxes.sqlite_bench import SqliteBench, by_hand
from tests.inboxes.sqlite_passes import YEAR, done, must_be_exact, one_pass

pytestmark = pytest.mark.req("R43")

DEFAULT = Retention()
BODIES_FIRST = Retention(Ages(bodies=7 * DAY_SECONDS))


async def test_whatever_is_unfinished_stays_however_old_it_is(bench: SqliteBench) -> None:
    for number, state in enumerate(State):
        if state is not State.READY:
            await event_in(bench.inbox, state, delivery(state), number=number + 1)
    await bench.inbox.record([delivery("ready"), delivery("the newest")])
    await bench.advance(10 * YEAR)
    before = await must_be_exact(bench.inbox)
    assert (await one_pass(bench.inbox, DEFAULT))["events"] == 3
    after = await must_be_exact(bench.inbox)
    assert before - after == {State.DONE: 1, State.DEAD: 1, State.UNHANDLED: 1}
    assert (await one_pass(bench.inbox, DEFAULT))["events"] == 0


async def test_bodies_go_before_identities(bench: SqliteBench) -> None:
    await done(bench.inbox, ["old", "young"], body=b"x" * 5_000)
    (old,) = [delivery("old")]
    await bench.advance(8 * DAY_SECONDS)
    await done(bench.inbox, ["newest"])
    assert (await one_pass(bench.inbox, BODIES_FIRST))["bodies"] == 2
    assert (await one_pass(bench.inbox, BODIES_FIRST))["bodies"] == 0, "they are gone"
    record = await bench.inbox.show(old.event_id)
    assert record is not None
    assert (record.body, record.headers, record.summary.body_expired_at) == (b"", b"[]", bench.clock.now())
    assert not (await bench.inbox.record([old]))[0].is_new, "it is known again"
    assert await bench.inbox.differing([old]) == [None], "nobody can say that it differs"
    assert await bench.inbox.replay([old.event_id], forced=False, who="ada") == 0
    assert await bench.inbox.recover([old.event_id], who="ada") == 0
    await bench.advance(28 * DAY_SECONDS)
    assert (await one_pass(bench.inbox, BODIES_FIRST))["events"] == 2
    assert await bench.inbox.show(old.event_id) is None
    assert (await must_be_exact(bench.inbox))[State.DONE] == 1


async def test_numbers_are_never_given_twice(bench: SqliteBench) -> None:
    """Marks of the audit and of the count go by them."""
    await done(bench.inbox, [f"event {number}" for number in range(10)])
    await bench.advance(YEAR)
    lines = await bench.inbox.newest_line()
    assert (await one_pass(bench.inbox, DEFAULT))["events"] == 10
    await done(bench.inbox, ["another"])
    assert await bench.inbox.newest_line() == lines + 1
    assert (await must_be_exact(bench.inbox))[State.DONE] == 1
    await bench.advance(YEAR)
    await one_pass(bench.inbox, DEFAULT)
    assert by_hand(bench.path, "SELECT count(*) FROM history") == [(1,)]


async def test_lines_that_were_not_counted_yet_are_counted_when_they_go(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(bench.inbox, ["carried", "replayed"])
    monkeypatch.setattr("landfast.inboxes.sqlite.census.CARRIED_FROM", 0)
    await bench.inbox.census()
    monkeypatch.undo()
    assert await bench.inbox.replay([delivery("replayed").event_id], forced=False, who="ada") == 1
    (claim,) = await bench.inbox.claim(token=token(99), lease=30, limit=1)
    assert list(await bench.inbox.settle([settlement(claim, Signal.BURY)])) == [True]
    await done(bench.inbox, ["above the mark", "the newest"])
    await bench.advance(YEAR)
    assert (await one_pass(bench.inbox, DEFAULT))["events"] == 4
    assert (await must_be_exact(bench.inbox))[State.DONE] == 0
    assert (await bench.inbox.census()).expired == {State.DONE: 3, State.DEAD: 1}


async def test_what_is_not_proven_is_held_back(bench: SqliteBench) -> None:
    await done(bench.inbox, ["first", "second", "newest"])
    await bench.advance(YEAR)
    found = await one_pass(bench.inbox, DEFAULT, proven=1)
    assert (found["events"], found["held_back"]) == (1, 2)


@pytest.mark.parametrize("ages", [DEFAULT, Retention(Ages(bodies=7 * DAY_SECONDS, dead=YEAR, memory=9 * YEAR))])
async def test_an_event_that_is_replayed_between_a_look_and_its_removal_stays(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch, ages: Retention
) -> None:
    await done(bench.inbox, ["done", "left alone"])
    await event_in(bench.inbox, State.DEAD, delivery("dead"), number=9)
    await bench.advance(2 * YEAR)
    looked = retention._look

    def and_then_somebody_replays(connection: apsw.Connection, *how: Any, **more: Any) -> Any:
        window = looked(connection, *how, **more)
        if window.old:
            for key in ("done", "dead"):
                asked = {"signal": Signal.REPLAY, "event": delivery(key).event_id, "at": 1, "who": "ada"}
                with apsw.Connection(str(bench.path)) as stranger:
                    assert moves.make_ready(stranger, **asked)  # type: ignore[arg-type]
        return window

    monkeypatch.setattr(retention, "_look", and_then_somebody_replays)
    found = await one_pass(bench.inbox, ages)
    assert found["events"] + found["bodies"] == 1, "what was left alone"
    monkeypatch.undo()
    assert (await must_be_exact(bench.inbox))[State.READY] == 2
    claims = await bench.inbox.claim(token=token(77), lease=30, limit=9)
    assert {claim.body for claim in claims} == {delivery("done").body, delivery("dead").body}


async def test_one_at_a_time_and_a_pass_goes_on_where_another_has_died(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "REMOVED_AT_ONCE", 2)
    await done(bench.inbox, [f"event {number}" for number in range(7)])
    await bench.advance(YEAR)
    assert await bench.inbox.take_retention_turn(b"one", every=0, lasting=60)
    assert not await bench.inbox.take_retention_turn(b"another", every=0, lasting=60)
    with pytest.raises(TurnLostError):
        await bench.inbox.retain(DEFAULT, holder=b"another", proven=99)
    assert await bench.inbox.retain(DEFAULT, holder=b"one", proven=99) is not None
    await bench.advance(61)
    with pytest.raises(TurnLostError):  # its turn is over
        await bench.inbox.retain(DEFAULT, holder=b"one", proven=99)
    found = await one_pass(bench.inbox, DEFAULT)
    assert found["events"] == 5
    assert not await bench.inbox.take_retention_turn(b"one", every=60, lasting=60), "not so soon"
    assert (await bench.inbox.last_pass()).ended_at == bench.clock.now()


async def test_the_file_shrinks_in_small_steps_while_much_of_it_is_free_and_no_further(bench: SqliteBench) -> None:
    await done(bench.inbox, [f"event {number}" for number in range(1_500)], body=b"x" * 3_000)
    await bench.inbox._file.run(lambda: bench.inbox._file._shorten_log(bench.inbox._file.connection(durable=True), 0))
    size = bench.path.stat().st_size
    await bench.advance(YEAR)
    await done(bench.inbox, [f"young {number}" for number in range(100)], body=b"x" * 3_000)
    found = await one_pass(bench.inbox, DEFAULT)
    assert found["events"] == 1_500
    assert found["bytes"] > size / 2
    free, pages = (by_hand(bench.path, f"PRAGMA {name}")[0][0] for name in ("freelist_count", "page_count"))
    assert 0.1 * pages < free < 0.3 * pages
    assert (await one_pass(bench.inbox, DEFAULT))["bytes"] == 0, "what is free now will be used soon"
    await must_be_exact(bench.inbox)


async def test_a_file_of_before_uses_its_room_again_and_compact_gives_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = apsw.Connection(str(tmp_path / "inbox.db"))
    connection.execute("CREATE TABLE before (it INTEGER); DROP TABLE before")  # without auto_vacuum, as they were
    connection.close()
    bench = SqliteBench(tmp_path / "inbox.db")
    await bench.inbox.open()
    await bench.inbox.migrate()
    await done(bench.inbox, [f"event {number}" for number in range(1_000)], body=b"x" * 3_000)
    await bench.advance(YEAR)
    assert (await one_pass(bench.inbox, DEFAULT))["bytes"] == 0
    room = await bench.inbox.room()
    assert not room.gives_back
    assert room.free_inside > 0.8 * bench.path.stat().st_size
    heard: list[tuple[int, int]] = []
    monkeypatch.setattr(compact, "LOOK_EVERY_SECONDS", 0.01)
    given = await bench.inbox.compact(report=lambda *how: heard.append(how))
    assert given.given_back > room.free_inside
    assert (await bench.inbox.room()).gives_back
    await must_be_exact(bench.inbox)
    await bench.close()


async def test_compact_waits_for_who_writes_and_can_be_stopped(
    bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await done(bench.inbox, [f"event {number}" for number in range(200)], body=b"x" * 3_000)
    monkeypatch.setattr(compact, "STEPS_PER_LOOK", 100)
    async with bench.inbox.alone():
        waiting = asyncio.create_task(bench.inbox.compact(report=lambda *_: None))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    await must_be_exact(bench.inbox)
    assert (await bench.inbox.record([delivery("later")]))[0].is_new


async def test_compact_says_how_much_room_it_needs(bench: SqliteBench, monkeypatch: pytest.MonkeyPatch) -> None:
    await bench.inbox.record([delivery()])
    monkeypatch.setattr(compact, "SPARE", 1e12)
    with pytest.raises(UserError, match="SQLITE_TMPDIR"):
        await bench.inbox.compact(report=lambda *_: None)


KILLED = textwrap.dedent(
    """
    import asyncio, os, shutil, sys
    from pathlib import Path

    from landfast.domain.lifecycle import Signal, State
    from landfast.domain.retention import Ages, Retention
    from tests.inboxes.sqlite_bench import SqliteBench
    from tests.inboxes.sqlite_passes import YEAR, must_be_exact, one_pass

    folder, ages = Path(sys.argv[1]), Retention(Ages(bodies=7 * 86400.0))

    async def opened(path):
        bench = SqliteBench(path)
        await bench.inbox.open()
        await bench.advance(30 * 86400 if "bodies" in path.name else YEAR)
        return bench

    async def killed_at(path, number):
        bench = await opened(path)
        left = number

        def traced(cursor, sql, bindings):
            nonlocal left
            if sql.startswith(("BEGIN", "COMMIT")) or any(w in sql for w in ("DELETE", "UPDATE", "INSERT")):
                left -= 1
                if left == 0:
                    os._exit(9)
            return True

        for durable in (True, False):
            bench.inbox._file.connection(durable=durable).exec_trace = traced
        await one_pass(bench.inbox, ages)
        os._exit(0)

    async def looked_at(path):
        bench = await opened(path)
        states = await must_be_exact(bench.inbox)
        bench.clock.advance(3601)  # the turn of the dead runs out
        await one_pass(bench.inbox, ages)
        after = await must_be_exact(bench.inbox)
        census = await bench.inbox.census()
        await bench.close()
        return states, after, census.expired

    for name in ("bodies", "all"):
        number, found = 0, set()
        while True:
            number += 1
            path = folder / f"{name}.{number}.db"
            shutil.copy(folder / "inbox.db", path)
            child = os.fork()
            if not child:
                asyncio.run(killed_at(path, number))
            _, status = os.waitpid(child, 0)
            states, after, expired = asyncio.run(looked_at(path))
            assert states[State.READY] == after[State.READY] == 2, states
            assert states[State.DELAYED] == after[State.DELAYED] == 1, states
            found.add((tuple(sorted(after.items())), tuple(sorted(expired.items()))))
            for file in folder.glob(path.name + "*"):
                file.unlink()
            if os.waitstatus_to_exitcode(status) == 0:
                break
        assert len(found) == 1, found
        print(name, number)
    """
)


async def test_killed_at_each_statement_the_pass_is_made_again_and_nothing_unfinished_is_gone(tmp_path: Path) -> None:
    bench = SqliteBench(tmp_path / "inbox.db")
    await bench.inbox.open()
    await bench.inbox.migrate()
    await done(bench.inbox, ["done 1", "done 2"], body=b"x" * 9_000)
    for number, state in enumerate((State.DEAD, State.UNHANDLED, State.DELAYED)):
        await event_in(bench.inbox, state, delivery(state), number=number + 50)
    await bench.inbox.record([delivery("ready"), delivery("the newest")])
    await bench.close()
    run = [sys.executable, "-c", KILLED, str(tmp_path)]
    killed = subprocess.run(run, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": "."})  # noqa: ASYNC221
    assert killed.returncode == 0, killed.stderr
    counts = dict(line.split() for line in killed.stdout.splitlines())
    assert int(counts["bodies"]) > 5
    assert int(counts["all"]) > 20
