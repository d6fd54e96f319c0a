"""Ledgers on SQLAlchemy's engines for MariaDB, waiting and blocking."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any

import pymysql
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from landfast.ledgers import schema
from tests.ledgers.stacks import CONCURRENCY, ledger_on

BUSINESS = (
    "CREATE TABLE shop_order (payment VARCHAR(200) PRIMARY KEY) ENGINE = InnoDB",
    "CREATE TABLE shop_line (payment VARCHAR(200)) ENGINE = InnoDB",
)
"""As in the suite, but that MySQL has no deferred constraints."""


ON_MYSQL = ("aiomysql", "sync pymysql")


def mysql_engine(stack: str, url: str, **options: Any) -> Engine | AsyncEngine:
    """`url` is that of any driver."""
    named = make_url(url).set(drivername=f"mysql+{stack.removeprefix('sync ')}")
    return create_async_engine(named, **options) if stack == "aiomysql" else create_engine(named, **options)


class StackOnMysql:
    """A Desk."""

    def __init__(self, stack: str, url: str, **options: Any) -> None:
        self.stack, self.dsn = stack, url
        self._now: float | None = None
        """What all connections take for the time, once it was moved."""
        self.engine = self._engine(**{"pool_size": CONCURRENCY, "max_overflow": 0} | options)
        self.ledger: Any = ledger_on(self.engine)
        self._others: list[Any] = []

    async def open(self) -> None:
        await self.ledger.open()
        await self.ledger.migrate()
        for statement in BUSINESS:
            await self.change(statement)

    async def close(self) -> None:
        for ledger in (self.ledger, *self._others):
            await ledger.close()

    async def another(self) -> Any:
        other = ledger_on(self._engine(), seed=2)
        await other.open()
        self._others.append(other)
        return other

    async def advance(self, seconds: float) -> None:
        """The time stands still, so much later, and is the same for all connections: those of the desks are told now,
        and those of the engines when they are taken from their pools."""
        self._now = (self._now or time.time()) + seconds

        async def work(statements: Any) -> None:
            await statements.execute(self._later)

        for ledger in (self.ledger, *self._others):
            for seat in ledger._desk._seats:
                await seat.run(work)

    @property
    def _later(self) -> str:
        return f"SET timestamp = {self._now:.6f}"

    def _engine(self, **options: Any) -> Engine | AsyncEngine:
        engine = mysql_engine(self.stack, self.dsn, **options)
        event.listen(getattr(engine, "sync_engine", engine), "checkout", self._taken)
        return engine

    def _taken(self, connection: Any, _record: object, _proxy: object) -> None:
        if self._now is not None:
            cursor = connection.cursor()
            cursor.execute(self._later)
            cursor.close()

    async def look(self, query: str) -> list[tuple[Any, ...]]:
        return await asyncio.to_thread(self._do, query)

    async def change(self, statement: str) -> None:
        await asyncio.to_thread(self._do, statement)

    def table(self, noun: str) -> str:
        """The receipts are their own guard: there is no row for it."""
        return schema.beside_others("receipt" if noun == "guard" else noun)

    async def raw(self, connection: Any, statement: str) -> None:
        await sent_raw(connection, statement)

    def _do(self, statement: str) -> list[tuple[Any, ...]]:
        url = make_url(self.dsn)
        where = {"host": url.host, "port": url.port, "user": url.username, "password": url.password}
        given: dict[str, Any] = {**where, "database": url.database, "autocommit": True}
        with closing(pymysql.connect(**given)) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())


async def sent_raw(connection: Any, statement: str) -> None:
    """Over the driver's own connection."""
    if type(connection).__module__.startswith("aiomysql"):
        async with connection.cursor() as cursor:
            await cursor.execute(statement)
        return
    with connection.cursor() as cursor:
        cursor.execute(statement)


@asynccontextmanager
async def mysql_desk(stack: str, url: str, **options: Any) -> AsyncIterator[StackOnMysql]:
    """Open, and beside the tables of the suite."""
    desk = StackOnMysql(stack, url, **options)
    await desk.open()
    try:
        yield desk
    finally:
        await desk.close()
