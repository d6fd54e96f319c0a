"""What listings on PostgreSQL have the planner do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager

import pytest

from landfast.inboxes.postgres.connection import Connection
from landfast.statement_limit import statements_within
from tests.inboxes.postgres_bench import PostgresBench


@pytest.fixture
async def bench(database: str) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(database).migrated() as made:
        yield made


async def test_whoever_lists_goes_along_an_index_and_nobody_else_is_told_to(bench: PostgresBench) -> None:
    """Behind millions of events the planner would rather read all dead letters and hash them, with more processors."""
    connections = bench.inbox._connections
    shown = ("enable_hashjoin", "enable_mergejoin", "max_parallel_workers_per_gather", "statement_timeout")
    before = await _shown(connections.working(), shown)
    with statements_within(7.0):
        assert await _shown(connections.listing(), shown) == ["off", "off", "0", "7s"]
    assert await _shown(connections.listing(), shown) == ["off", "off", "0", before[-1]]
    assert await _shown(connections.working(), shown) == before


async def _shown(connected: AbstractAsyncContextManager[Connection], names: Sequence[str]) -> list[str]:
    async with connected as connection:
        return [await connection.fetchval(f"SHOW {name}") for name in names]
