"""Rows that an earlier handler wrote more than once: which to keep, and which only look so. Nothing is written."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.domain.errors import UserError
from landfast.domain.ids import HandlerName, InboxId, receipt_digest
from landfast.domain.outcome import ReceiptKey
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.operations.duplicates import Asked, Reader, find_duplicates, reader_of
from landfast.testing.clock import ManualClock, SeededChance
from tests.patience import PATIENCE_SECONDS

INBOX = InboxId(bytes(16))
DAY = datetime(2026, 1, 1, tzinfo=UTC)
Ledger = PostgresLedger | SqliteLedger
Read = Callable[[], AbstractAsyncContextManager[Reader]]


class Books:
    """A ledger's database with the user's own tables in it."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger

    async def sql(self, statement: str, rows: list[tuple[Any, ...]] | None = None) -> list[Any]:
        if isinstance(self.ledger, PostgresLedger):
            connection = await asyncpg.connect(self.ledger._dsn)
            try:
                if rows is None:
                    return [tuple(row) for row in await connection.fetch(statement)]
                await connection.executemany(statement, rows)
                return []
            finally:
                await connection.close()
        with closing(sqlite3.connect(self.ledger._path)) as db, db:
            if rows is None:
                return db.execute(statement).fetchall()
            shown = [tuple(str(each) if isinstance(each, datetime) else each for each in row) for row in rows]
            return db.executemany(statement, shown).fetchall()

    async def receipt(self, key: str) -> None:
        transaction = await self.ledger.begin(deadline=PATIENCE_SECONDS)
        await transaction.reserve([ReceiptKey(receipt_digest(INBOX, "stripe", key), HandlerName("create_order"), 1)])
        await transaction.commit(results=[], effects=[])


@pytest.fixture(params=["sqlite", "postgres"])
async def books(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Books]:
    ledger: Ledger
    clock, chance = ManualClock(), SeededChance()
    if request.param == "sqlite":
        ledger = SqliteLedger(tmp_path / "ledger.db", clock=clock, chance=chance)
    else:
        ledger = PostgresLedger(request.getfixturevalue("migrated_database"), clock=clock, chance=chance)
    await ledger.open()
    await ledger.migrate()
    yield Books(ledger)
    await ledger.close()


ORDERS = """
CREATE TABLE "the ""orders" (
    id INTEGER PRIMARY KEY, "payment id" TEXT, event TEXT, created_at TIMESTAMP
)
"""
INSERT = 'INSERT INTO "the ""orders" ("payment id", event, created_at, id) VALUES ($1, $2, $3, $4)'
TABLE, COLUMN = 'the "orders', "payment id"


async def filled(books: Books) -> None:
    """pi_1 was written by one event three times, pi_2 twice; pi_3 was paid twice, by two events; pi_4 is well; pi_5 is
    from before there were events; one has none."""
    await books.sql(ORDERS)
    rows = [
        ("pi_1", "evt_1"), ("pi_2", "evt_2"), ("pi_3", "evt_3a"), ("pi_4", "evt_4"), ("pi_1", "evt_1"),
        ("pi_3", "evt_3b"), ("pi_1", "evt_1"), ("pi_2", "evt_2"), ("pi_5", None), ("pi_5", None), (None, "evt_6"),
    ]  # fmt: skip
    made = [(*row, (DAY + timedelta(hours=number)).replace(tzinfo=None), number) for number, row in enumerate(rows)]
    if isinstance(books.ledger, SqliteLedger):
        with closing(sqlite3.connect(books.ledger._path)) as db, db:
            statement = 'INSERT INTO "the ""orders" ("payment id", event, created_at, id) VALUES (?, ?, ?, ?)'
            db.executemany(statement, [(a, b, str(c), d) for a, b, c, d in made])
    else:
        await books.sql(INSERT, made)


@pytest.mark.req("R47")
async def test_what_one_event_wrote_more_than_once_is_told_apart_from_what_several_events_wrote(books: Books) -> None:
    await filled(books)
    async with reader_of(books.ledger) as reader:
        report = await find_duplicates(reader, Asked(TABLE, COLUMN, "event"))
        blind = await find_duplicates(reader, Asked(TABLE, COLUMN))
        few = await find_duplicates(reader, Asked(TABLE, COLUMN, groups=1))
    assert [(one.value, one.event, one.count, one.keep, one.extra) for one in report.doubled] == [
        ("pi_1", "evt_1", 3, 0, (4, 6)),
        ("pi_2", "evt_2", 2, 1, (7,)),
    ]
    assert (report.rows, report.doubled_values, report.extra_rows, report.without_value) == (11, 2, 3, 1)
    assert [(one.value, one.count, one.events) for one in report.legitimate] == [("pi_3", 2, 2)]
    assert (report.legitimate_values, report.unclear_values, report.oldest_by) == (1, 1, "created_at")
    # Without events nobody can tell: every value that repeats is named.
    assert [one.value for one in blind.doubled] == ["pi_1", "pi_2", "pi_3", "pi_5"]
    assert (len(few.doubled), few.doubled_values, few.extra_rows) == (1, 4, 5)
    assert (await books.sql('SELECT count(*) FROM "the ""orders"')) == [(11,)]


@pytest.mark.req("R47")
async def test_of_rows_that_landfast_wrote_too_the_one_with_the_receipt_is_kept(books: Books) -> None:
    await filled(books)
    await books.receipt("evt_1")
    table = "landfast_ledger.receipt" if isinstance(books.ledger, PostgresLedger) else "landfast_receipt"
    at = DAY + timedelta(hours=4, seconds=1)  # when row 4 was written
    written = f"'{at}'" if isinstance(books.ledger, PostgresLedger) else str(int(at.timestamp() * 1_000_000))
    await books.sql(f"UPDATE {table} SET created_at = {written}")
    async with reader_of(books.ledger) as reader:
        report = await find_duplicates(reader, Asked(TABLE, COLUMN, "event", source="stripe"), inbox=INBOX)
    first, second = report.doubled
    assert (first.keep, first.extra, first.keep_because) == (4, (0, 6), "it was written when its receipt was")
    assert (second.keep, second.keep_because) == (1, "the oldest by created_at")


async def test_a_table_without_a_time_or_a_key_is_read_and_says_what_it_cannot_know(books: Books) -> None:
    await books.sql("CREATE TABLE plain (payment_id TEXT)")
    await books.sql("INSERT INTO plain VALUES ('a'), ('b'), ('a')")
    async with reader_of(books.ledger) as reader:
        report = await find_duplicates(reader, Asked("plain", "payment_id"))
        assert (report.extra_rows, len(report.doubled[0].extra)) == (1, 1)
        assert "no column says which row is the oldest" in report.notes[0]
        for asked, problem in (
            (Asked("plain", "payment"), "plain has no column 'payment'; did you mean 'payment_id'"),
            (Asked("nothing", "id"), "there is no table 'nothing'"),
            (Asked("plain; DROP TABLE plain", "payment_id"), "there is no table"),
        ):
            with pytest.raises(UserError, match=problem):
                await find_duplicates(reader, asked)


@pytest.mark.req("R47")
async def test_the_connection_cannot_write(books: Books) -> None:
    await books.sql("CREATE TABLE plain (payment_id TEXT)")
    with pytest.raises(UserError, match=r"read-?only"):
        async with reader_of(books.ledger) as reader:
            await reader.fetch("INSERT INTO plain VALUES ('x')")
    assert await books.sql("SELECT count(*) FROM plain") == [(0,)]
