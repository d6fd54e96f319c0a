"""Databases for the benchmark: on a disk, with fsync, set up as somebody would who cares."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path

import apsw
import asyncpg

from bench import machine
from tests.servers import Postgres

SETTINGS = {
    "shared_buffers": "256MB",
    "max_wal_size": "4GB",  # a checkpoint in the middle of a short run would be measured as if it came in every one
    "autovacuum_naptime": "5s",  # short runs still see the vacuum that long ones have
}
ORDERS = "CREATE TABLE orders (id {key} PRIMARY KEY, payment_id TEXT NOT NULL, amount INTEGER NOT NULL, waited BIGINT)"

DONE_ON_POSTGRES = """
SELECT extract(epoch FROM h.at - h.received_at) * 1000 AS waited
FROM landfast.history AS h JOIN landfast.body AS b USING (received_at, event_id)
WHERE h.state = 'done' AND b.type = $1 ORDER BY waited
"""
DONE_ON_SQLITE = """
SELECT (h.at - h.received_at) / 1000.0 AS waited
FROM history AS h JOIN body AS b USING (received_at, event_id)
WHERE h.state = 'done' AND b.type = ? ORDER BY waited
"""


class DiskPostgres(Postgres):
    """The tests' server on a disk, where its fsync is real."""

    def create(self) -> None:
        super().create()
        for name, value in SETTINGS.items():
            self.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        self.restart(immediate=False)

    def pids(self) -> list[int]:
        """All of its processes."""
        postmaster = int((self._data / "postmaster.pid").read_text().splitlines()[0])
        return [postmaster, *machine.children(postmaster)]


@dataclass(frozen=True, slots=True)
class Store:
    """An empty inbox and ledger, and the business table beside the ledger."""

    kind: str
    inbox: str
    ledger: str
    postgres: DiskPostgres | None = None

    def pids(self) -> list[int]:
        return self.postgres.pids() if self.postgres else []

    async def is_settled(self) -> bool:
        """Nothing is ready or claimed any more."""
        if self.postgres is None:
            # As in `waits_until_done`: with the library that an inbox in this process uses.
            with closing(apsw.Connection(self.inbox, flags=apsw.SQLITE_OPEN_READONLY)) as db:
                return not list(db.execute("SELECT 1 FROM work LIMIT 1"))
        return not await self._ask("SELECT count(*) FROM (SELECT 1 FROM {inbox}work LIMIT 1) AS w", self.inbox)

    async def orders(self) -> int:
        return await self._ask("SELECT count(*) FROM orders", self.ledger)

    async def waits(self) -> list[int]:
        """Nanoseconds from sending to the handler's start, sorted."""
        query = "SELECT waited FROM orders ORDER BY waited"
        if self.postgres is None:
            with closing(sqlite3.connect(self.ledger)) as db:
                return [row[0] for row in db.execute(query)]
        async with connected(self.ledger) as connection:
            return [row[0] for row in await connection.fetch(query)]

    async def waits_until_done(self, type_: str) -> list[float]:
        """Milliseconds from receipt to done of the events of this type, sorted."""
        if self.postgres is None:
            # With the library that the inbox of this process uses: another one would not see its locks, take itself
            # for the last that has the file open, and remove the log that the inbox goes on writing to.
            with closing(apsw.Connection(self.inbox, flags=apsw.SQLITE_OPEN_READONLY)) as db:
                return [row[0] for row in db.execute(DONE_ON_SQLITE, [type_])]
        async with connected(self.inbox) as connection:
            return [float(row[0]) for row in await connection.fetch(DONE_ON_POSTGRES, type_)]

    async def _ask(self, query: str, where: str) -> int:
        count: int
        if self.postgres is None:
            with closing(sqlite3.connect(where)) as db:
                count = db.execute(query.format(inbox="")).fetchone()[0]
        else:
            async with connected(where) as connection:
                count = await connection.fetchval(query.format(inbox="landfast."))
        return count


@asynccontextmanager
async def connected(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def on_postgres(server: DiskPostgres) -> AsyncIterator[Store]:
    name = server.new_database()
    dsn = server.dsn(name)
    try:
        async with connected(dsn) as connection:
            await connection.execute(ORDERS.format(key="BIGINT GENERATED ALWAYS AS IDENTITY"))
        yield Store("PostgreSQL", dsn, dsn, server)
    finally:
        server.drop_database(name)


@asynccontextmanager
async def on_sqlite(parent: Path) -> AsyncIterator[Store]:
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-sqlite-", dir=parent))
    ledger = str(folder / "shop.db")
    try:
        with closing(sqlite3.connect(ledger)) as db:
            db.execute(ORDERS.format(key="INTEGER"))
        yield Store("SQLite", str(folder / "inbox.db"), ledger)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
