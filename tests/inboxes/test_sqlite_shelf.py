"""The shelf on SQLite lies in the order of arrival: what is on it already costs those nothing who move an event."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import apsw
import pytest

from landfast import sqlfiles
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import find
from landfast.inboxes.sqlite.statements import SQL, ask
from landfast.testing.conformance.inbox.bench import claim
from landfast.testing.factory import DELAY, deliveries, delivery, event_in, settlement
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

MOVED = 200
WAITING = 20_000
FULL = f"""
INSERT INTO shelf (event_id, state, received_at, body_seq, source, type, run, forced, suspect, crashes, tries, handler,
                   reason, error, message)
WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {WAITING})
SELECT randomblob(16), 'unhandled', i, -i, 'shop', 'type.' || (i % 40), 1, 0, 0, 0, '{{}}', '', 'no_handler', '', ''
FROM n;
PRAGMA wal_checkpoint(TRUNCATE);
"""
WAL_HEADER_BYTES, WAL_FRAME_BYTES = 32, 24 + 4096
FOUND_BY_ID = ["named_candidates", "shelf_to_history", "shelf_to_shelf", "show"]
FOUND_BY_PLACE = ["erase_shelf", "find_bodiless", "leave_shelf", "shelf_to_work"]
BEFORE = 6
"""Migrations before the one that put the shelf in order."""
SHELVED = [State.DELAYED, State.UNHANDLED, State.DEAD, State.HELD, State.PAUSED]


def pages_written(path: Path) -> int:
    """Since the last time: each COMMIT writes every page that it changed once."""
    size = Path(f"{path}-wal").stat().st_size
    by_hand(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return max(0, size - WAL_HEADER_BYTES) // WAL_FRAME_BYTES


async def test_a_move_changes_as_few_pages_of_a_full_shelf_as_of_an_empty_one(tmp_path: Path) -> None:
    pages: dict[str, list[int]] = {}
    for name in ("empty", "full"):
        bench = SqliteBench(tmp_path / f"{name}.db")
        await bench.inbox.open()
        await bench.inbox.migrate()
        if name == "full":
            by_hand(bench.path, FULL)
        await bench.inbox.record(deliveries(MOVED))
        claims = await claim(bench.inbox, 1, limit=MOVED)
        pages_written(bench.path)
        await bench.inbox.settle([settlement(one, Signal.NO_HANDLER) for one in claims])
        shelving = pages_written(bench.path)
        assert await bench.inbox.requeue(source="shop", type="order.created", limit=MOVED) == MOVED
        pages[name] = [shelving, pages_written(bench.path)]
        await bench.close()
    # The trees of a full shelf are deeper: some pages more, whatever is moved.
    assert all(full <= empty + MOVED // 10 for empty, full in zip(pages["empty"], pages["full"], strict=True)), pages


@pytest.mark.parametrize("statement", [*FOUND_BY_ID, *FOUND_BY_PLACE])
async def test_one_event_is_found_by_its_place(bench: SqliteBench, statement: str) -> None:
    plan = _plan(bench.path, SQL[statement])
    assert [step for step in plan if "PRIMARY KEY (body_seq=? AND event_id=?)" in step], plan
    assert not [step for step in plan if re.match(r"SCAN (?!json_each)", step)], plan


async def test_the_census_passes_over_what_is_counted_already(bench: SqliteBench) -> None:
    plan = _plan(bench.path, SQL["census_shelf"])
    assert "SEARCH shelf USING COVERING INDEX shelf_by_arrival (state=?)" in plan
    assert not [step for step in plan if re.match(r"SCAN (?!json_each)", step)], plan


async def test_a_shelf_of_before_is_put_in_order_and_keeps_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SqliteBench(tmp_path / "inbox.db")
    known = sqlfiles.migrations("landfast.inboxes.sqlite")
    with monkeypatch.context() as patch:
        patch.setattr(sqlfiles, "migrations", lambda _package: known[:BEFORE])
        await bench.inbox.open()
        assert len(await bench.inbox.migrate()) == BEFORE
    names = "event_id, state, due_at, received_at, body_seq, source, type, lane, run, forced, suspect, crashes, tries"
    everything = f"SELECT {names}, handler, reason, error, message FROM shelf ORDER BY event_id"
    await _fill_as_before(bench.path, tmp_path / "today.db")
    before = by_hand(bench.path, everything)

    assert len(await bench.inbox.migrate()) == len(known) - BEFORE

    assert by_hand(bench.path, everything) == before and len(before) == len(SHELVED)
    assert list(await bench.inbox.problems()) == []
    assert by_hand(bench.path, "SELECT * FROM unhandled_count") == [("shop", "order.created", 1)]
    await _must_all_go_on(bench)
    await bench.close()


async def _fill_as_before(path: Path, today: Path) -> None:
    """By an inbox of today, and without the columns that came later: today's statements do not know that shelf."""
    bench = SqliteBench(today)
    await bench.inbox.open()
    await bench.inbox.migrate()
    for number, state in enumerate(SHELVED):
        await event_in(bench.inbox, state, delivery(f"evt_{state}", entity="customer_7"), number=number)
    await bench.close()
    connection = apsw.Connection(str(path))
    connection.execute("ATTACH ? AS today", [str(today)])
    for table in ("identity", "body", "history", "shelf"):
        both = [{row[1] for row in connection.execute(f"PRAGMA {of}.table_info({table})")} for of in ("main", "today")]
        names = ", ".join(sorted(both[0] & both[1]))
        connection.execute(f"INSERT INTO main.{table} ({names}) SELECT {names} FROM today.{table}")
    connection.close()


async def _must_all_go_on(bench: SqliteBench) -> None:
    ids = {state: delivery(f"evt_{state}", entity="customer_7").event_id for state in SHELVED}
    assert await bench.inbox.requeue(source="shop", type="order.created", limit=10) == 1
    assert await bench.inbox.replay([ids[State.DEAD]], forced=False, who="ada") == 1
    assert await bench.inbox.admit([ids[State.HELD]], who="ada") == 1
    assert await bench.inbox.resume(limit=10) == 1
    await bench.advance(DELAY + 1)
    assert {one.event_id for one in await claim(bench.inbox, 50, limit=10)} == set(ids.values())
    assert by_hand(bench.path, "SELECT (SELECT count(*) FROM shelf), count(*) FROM unhandled_count") == [(0, 0)]


def _plan(path: Path, sql: str) -> list[str]:
    connection = apsw.Connection(str(path))
    try:
        values: object = dict.fromkeys(re.findall(r":(\w+)", sql)) or [None] * sql.count("?")
        return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]  # type: ignore[arg-type]
    finally:
        connection.close()


async def test_who_looks_for_an_error_walks_through_the_shelf_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million events that are done lie before it. Of what is on the shelf, no more is read than may match."""
    monkeypatch.setattr(find, "WINDOW", 4)
    bench = SqliteBench(tmp_path / "inbox.db")
    await bench.inbox.open()
    await bench.inbox.migrate()
    dead, delayed = [await event_in(bench.inbox, state, delivery(state)) for state in (State.DEAD, State.DELAYED)]
    await bench.inbox.record(deliveries(40, prefix="ready"))
    looked: list[str] = []

    def asked(connection: apsw.Connection, statement: str, values: Any = ()) -> list[Any]:
        looked.append(statement)
        return ask(connection, statement, values)

    monkeypatch.setattr(find, "ask", asked)
    found = await bench.inbox.find(Filter(error="*"), limit=10)
    assert {one.event_id for one in found} == {dead.event_id, delayed.event_id}
    assert looked.count("find_summaries") == 2
    looked.clear()
    for state in (None, State.DEAD, State.DELAYED):
        assert await bench.inbox.find(Filter(error="NoSuchError", state=state), limit=10) == []
        assert await bench.inbox.count(Filter(handler="nobody", state=state), at_most=10) == 0
    assert looked == []
    await bench.close()
