"""Ledgers beside a small shop, on every driver."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.ledgers import schema
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.sqlite import SqliteLedger
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger import BUSINESS


class SqliteDesk:
    def __init__(self, path: Path, *, master: bytes | None = None) -> None:
        self.path = path
        self.masters = [] if master is None else [master]
        self.clock = ManualClock()
        self.ledger = SqliteLedger(path, clock=self.clock, chance=SeededChance(1), seal=Seal(self.masters))
        self._others: list[SqliteLedger] = []

    async def open(self) -> None:
        await self.ledger.open()
        await self.ledger.migrate()
        for statement in BUSINESS:
            await self.change(statement)

    async def close(self) -> None:
        for ledger in (self.ledger, *self._others):
            await ledger.close()

    async def another(self) -> SqliteLedger:
        other = SqliteLedger(self.path, clock=self.clock, chance=SeededChance(2), seal=Seal(self.masters))
        await other.open()
        self._others.append(other)
        return other

    async def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    async def look(self, query: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(query).fetchall()

    async def change(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path, isolation_level=None)) as connection:
            connection.execute(statement)

    def table(self, noun: str) -> str:
        return schema.beside_others(noun)

    async def raw(self, connection: sqlite3.Connection, statement: str) -> None:
        connection.execute(statement)


class PostgresDesk:
    def __init__(self, dsn: str, *, master: bytes | None = None, pooled: str | None = None) -> None:
        """`pooled` is the same database behind a pooler, for the ledger; the test itself looks at it directly."""
        self.dsn = dsn
        self._ledger_dsn = pooled or dsn
        self.masters = [] if master is None else [master]
        self.ledger = self._new(1)
        self._others: list[PostgresLedger] = []
        self._ahead = 0.0

    async def open(self) -> None:
        await self.ledger.open()
        await self.ledger.migrate()
        for statement in BUSINESS:
            await self.change(statement)

    async def close(self) -> None:
        for ledger in (self.ledger, *self._others):
            await ledger.close()

    async def another(self) -> PostgresLedger:
        other = self._new(2)
        await other.open()
        self._others.append(other)
        return other

    async def advance(self, seconds: float) -> None:
        self._ahead += seconds
        body = f"SELECT now() + interval ''{self._ahead} seconds''"
        await self.change(
            f"CREATE OR REPLACE FUNCTION landfast_ledger.clock() RETURNS timestamptz LANGUAGE sql STABLE AS '{body}'"
        )

    async def look(self, query: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(self.dsn)
        try:
            return [tuple(row) for row in await connection.fetch(query)]
        finally:
            await connection.close()

    async def change(self, statement: str) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(statement)
        finally:
            await connection.close()

    def table(self, noun: str) -> str:
        return schema.in_schema(noun)

    async def raw(self, connection: Any, statement: str) -> None:
        await connection.execute(statement)

    def _new(self, seed: int) -> PostgresLedger:
        sealing = Seal(self.masters)
        return PostgresLedger(self._ledger_dsn, clock=ManualClock(), chance=SeededChance(seed), pool=4, seal=sealing)


@pytest.fixture
async def sqlite_desk(tmp_path: Path, migrated_folder: Path) -> AsyncIterator[SqliteDesk]:
    desk = SqliteDesk(Path(shutil.copy(migrated_folder / "ledger.db", tmp_path / "shop.db")))
    await desk.open()
    yield desk
    await desk.close()


@pytest.fixture
async def postgres_desk(migrated_database: str) -> AsyncIterator[PostgresDesk]:
    desk = PostgresDesk(migrated_database)
    await desk.open()
    yield desk
    await desk.close()
