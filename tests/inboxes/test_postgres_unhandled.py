"""Unhandled events on PostgreSQL: one type is found by its index, and the counters stay few."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from landfast.domain.lifecycle import State
from landfast.domain.unhandled import UnhandledCount
from landfast.inboxes.postgres import work
from landfast.inboxes.postgres.statements import SQL
from landfast.testing.factory import deliveries, event_in
from tests.inboxes.postgres_bench import PostgresBench

ROWS = "SELECT count(*) FROM landfast.unhandled_count"


@pytest.fixture
async def bench(migrated_database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(migrated_database).migrated() as made:
        yield made


async def test_requeue_finds_one_type_by_its_index_in_order(bench: PostgresBench) -> None:
    connection = await asyncpg.connect(bench.dsn)
    try:
        # In an empty table a scan is cheaper than anything.
        await connection.execute(
            "SET enable_seqscan = off; SET enable_bitmapscan = off; SET plan_cache_mode = force_generic_plan"
        )
        await connection.execute(f"PREPARE requeue (text, text, integer) AS {SQL['requeue_candidates']}")
        plan = "\n".join(row[0] for row in await connection.fetch("EXPLAIN EXECUTE requeue ('shop', 'a', 500)"))
    finally:
        await connection.close()
    assert "Index Scan Backward using shelf_unhandled" in plan
    assert "(source = $1) AND (type = $2)" in plan
    assert "Sort" not in plan


async def test_what_comes_back_from_the_shelf_is_found_by_its_place(bench: PostgresBench) -> None:
    connection = await asyncpg.connect(bench.dsn)
    try:
        await connection.execute("SET plan_cache_mode = force_custom_plan")
        await connection.execute(f"PREPARE back AS {SQL['shelf_to_work']}")
        states = (
            "ARRAY['unhandled'], true, 'requeue', 'ready', '', NULL, false, false, '{}', ARRAY['unhandled'], "
            "ARRAY[]::tid[]"
        )
        places = "ARRAY['(0,1)', '(0,2)']::tid[]"
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN EXECUTE back ({places}, {states})"))
    finally:
        await connection.close()
    assert "TID Cond: (ctid = ANY" in plan


async def test_the_census_passes_over_what_is_counted_already(bench: PostgresBench) -> None:
    connection = await asyncpg.connect(bench.dsn)
    try:
        # In an empty table a scan is cheaper than anything.
        await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = off")
        await connection.execute(f"PREPARE census AS {SQL['census_shelf']}")
        asked = "EXPLAIN EXECUTE census (ARRAY['delayed', 'dead', 'held', 'paused', 'parked', 'queued'])"
        plan = "\n".join(row[0] for row in await connection.fetch(asked))
    finally:
        await connection.close()
    assert "Index Only Scan using shelf_listing" in plan
    assert "Index Cond: (state = ANY ('{delayed,dead,held,paused,parked,queued}'::text[]))" in plan


async def test_the_rows_of_the_counters_are_made_one_and_the_counts_stay(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "FOLD_ABOVE", 2)
    for number, what in enumerate(deliveries(4)):
        await event_in(bench.inbox, State.UNHANDLED, what, number=number)
    assert await bench.fetch(ROWS) == [4]
    asked = [bench.inbox, await bench.another(), await bench.another()]
    told = await asyncio.gather(*(inbox.unhandled() for inbox in asked))
    assert [list(counts) for counts in told] == [[UnhandledCount("shop", "order.created", 4)]] * 3
    assert (await bench.fetch(ROWS))[0] < 4  # of several who fold at once, each may have got a part
    await bench.inbox.requeue(source="shop", type="order.created", limit=10)
    assert list(await bench.inbox.unhandled()) == []
