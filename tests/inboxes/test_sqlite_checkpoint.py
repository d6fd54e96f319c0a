"""The write-ahead log of the SQLite inbox does not grow without end, and what it held is in the database."""

from __future__ import annotations

import asyncio
from pathlib import Path

import apsw
import pytest

from landfast.domain.filter import Filter
from landfast.inboxes.sqlite import checkpoint
from landfast.testing.factory import delivery
from tests.inboxes.sqlite_bench import SqliteBench

PAGE = 4096
MANY = 600


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> int:
    """A checkpoint after this many pages."""
    monkeypatch.setattr(checkpoint, "PAGES", 50)
    return 50


async def test_the_log_begins_anew_while_deliveries_keep_coming(bench: SqliteBench, brief: int) -> None:
    for number in range(MANY):
        await bench.inbox.record([delivery(f"key {number}")])
        await asyncio.sleep(0)
    written = MANY * 5  # pages at the very least: each COMMIT changes that many
    assert _log(bench.path).stat().st_size < (written // 2) * PAGE
    assert written > 10 * brief
    assert await bench.inbox.count(Filter(), at_most=MANY + 1) == MANY


async def test_a_reader_in_the_way_costs_only_a_longer_log(bench: SqliteBench, brief: int) -> None:
    reader = apsw.Connection(str(bench.path))
    reader.execute("BEGIN; SELECT count(*) FROM body")
    for number in range(brief):
        assert (await bench.inbox.record([delivery(f"key {number}")]))[0].is_new
    assert _log(bench.path).stat().st_size > brief * PAGE
    reader.close()
    assert await bench.inbox.count(Filter(), at_most=MANY) == brief


def _log(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")
