"""The user's own database, to be read only: on a connection of its own, which could not write if it wanted to."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import asyncpg

from landfast import sqlfiles
from landfast.domain.errors import LedgerUnavailableError, UserError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.micros import moment
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.ports.ledger import Ledger

SQL = sqlfiles.statements("landfast.operations.duplicates")

ANSWER_SECONDS = 600.0
"""For one statement: it may have to sort a large table."""


class Column(NamedTuple):
    name: str
    is_key: bool
    kind: str


class Reader(Protocol):
    row_id: str
    """What a row without a primary key is named by; empty where nothing names it."""
    text: str
    """What a value is cast to, to be read as text."""

    def exact(self, column: str, kind: str) -> str:
        """The column as it is compared, by each character: to many a MySQL column `pi_a` and `PI_A` are one."""
        ...

    def table(self, name: str) -> str:
        """The name, quoted."""
        ...

    async def columns(self, table: str) -> Sequence[Column]:
        """None of a table that is not there."""
        ...

    async def fetch(self, statement: str) -> Sequence[Sequence[Any]]: ...

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Mapping[bytes, datetime]:
        """When the first receipt of each was written."""
        ...


def reader_of(ledger: Ledger) -> AbstractAsyncContextManager[Reader]:
    """Of the database that the ledger is in, whatever it was opened with. The ledger itself need not be open."""
    if isinstance(ledger, PostgresLedger):
        return _postgres(ledger._dsn)  # noqa: SLF001 - whatever it was derived from
    if isinstance(ledger, SqliteLedger):
        return _sqlite(Path(ledger._path).absolute().as_uri())  # noqa: SLF001 - same
    # Whoever has one has imported its module, and with it a package that not everybody has.
    mysql = sys.modules.get("landfast.ledgers.mysql.ledger")
    if mysql is not None and isinstance(ledger, mysql.MysqlLedger):
        from landfast.operations.duplicates.mysql import reading

        return reading(ledger)
    raise UserError(f"duplicates: a {type(ledger).__name__} cannot be read; it works on PostgreSQL, SQLite and MySQL")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class PostgresReader:
    row_id, text = "ctid::text", "text"

    def __init__(self, connection: asyncpg.Connection[asyncpg.Record]) -> None:
        self._connection = connection

    def exact(self, column: str, kind: str) -> str:  # noqa: ARG002 - as the port has it
        return column

    def table(self, name: str) -> str:
        return ".".join(quoted(part) for part in name.split("."))

    async def columns(self, table: str) -> Sequence[Column]:
        return [Column(*row) for row in await self._connection.fetch(SQL["postgres_columns"], self.table(table))]

    async def fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        return [tuple(row) for row in await self._connection.fetch(statement)]

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Mapping[bytes, datetime]:
        return dict(map(tuple, await self._connection.fetch(SQL["postgres_receipts"], digests)))


@asynccontextmanager
async def _postgres(dsn: str) -> AsyncIterator[Reader]:
    try:
        connection = await asyncpg.connect(dsn, timeout=10.0, command_timeout=ANSWER_SECONDS, statement_cache_size=0)
    except (OSError, asyncpg.PostgresError) as error:
        raise LedgerUnavailableError(f"the ledger's database does not answer: {type(error).__name__}") from None
    try:
        # One snapshot for all that is counted, and no write is possible in it.
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            yield PostgresReader(connection)
    except asyncpg.PostgresError as error:
        raise UserError(f"duplicates: PostgreSQL says {error}; name a table and columns that can be compared") from None
    finally:
        connection.terminate()


class SqliteReader:
    row_id, text = "rowid", "text"

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def exact(self, column: str, kind: str) -> str:  # noqa: ARG002 - as the port has it
        return column

    def table(self, name: str) -> str:
        return quoted(name)

    async def columns(self, table: str) -> Sequence[Column]:
        found = await self.fetch(f"PRAGMA table_info({quoted(table)})")
        return [Column(row[1], bool(row[5]), str(row[2]).lower()) for row in found]

    async def fetch(self, statement: str) -> Sequence[Sequence[Any]]:
        return await asyncio.to_thread(lambda: self._connection.execute(statement).fetchall())

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Mapping[bytes, datetime]:
        found = {}
        for digest in digests:
            asked = "SELECT min(created_at) FROM landfast_receipt WHERE digest = ?"
            (at,) = self._connection.execute(asked, (digest,)).fetchone()
            if at is not None:
                found[bytes(digest)] = moment(at)
        return found


@asynccontextmanager
async def _sqlite(address: str) -> AsyncIterator[Reader]:
    try:
        opened = sqlite3.connect(f"{address}?mode=ro", uri=True, check_same_thread=False)
    except sqlite3.Error as error:
        raise LedgerUnavailableError(f"the ledger cannot be read: {error}") from None
    with closing(opened) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        try:
            connection.execute("BEGIN")
            yield SqliteReader(connection)
        except sqlite3.Error as error:
            raise UserError(f"duplicates: SQLite says {error}") from None
