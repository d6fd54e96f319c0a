"""Counts on PostgreSQL: a boot has several rows of them, so that an update stays cheap under a long snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from landfast.domain.census import StoredCount, TallyReport
from landfast.inboxes.postgres import record as record_module
from landfast.testing.factory import deliveries
from tests.inboxes.postgres_bench import PostgresBench

ROWS = "SELECT count(*) FROM landfast.counted"


@pytest.fixture
async def bench(database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(database).migrated() as made:
        yield made


@pytest.mark.req("R61")
async def test_rows_of_counts_do_not_grow_with_the_life_of_a_boot(
    bench: PostgresBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_module, "BATCHES_PER_SLOT", 1)

    async def batches(prefix: str) -> None:
        for n in range(15):
            await bench.inbox.record(deliveries(2, prefix=f"{prefix}_{n}"))
            await bench.inbox.record_drained(deliveries(1, prefix=f"{prefix}_drained_{n}"))

    async def look() -> None:
        for _ in range(10):
            await bench.inbox.census()

    await asyncio.gather(batches("a"), batches("b"), look(), look())
    census = await bench.inbox.census()
    assert census.stored == StoredCount(60, 30, 30)
    assert await bench.fetch(ROWS) <= [14], "at most the newest few of each kind, and one for the rest"
    await bench.inbox.tally(TallyReport(bench.inbox.boot, {}, {}))
    await bench.advance(2 * 86_400.0)
    assert (await bench.inbox.census()).stored == StoredCount(60, 30, 30)
    assert await bench.fetch(ROWS) == [2]
