"""SQLAlchemy's stacks: an engine of the user's on each driver, and a ledger on it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from landfast.drivers import ledger_driver
from landfast.ports.ledger import Ledger
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from tests.ledgers.conftest import PostgresDesk, SqliteDesk

WAITING = ("asyncpg", "psycopg", "aiosqlite")
BLOCKING = ("sync psycopg", "sync psycopg2", "sync sqlite")
STACKS = (*WAITING, *BLOCKING)
ON_POSTGRES = tuple(stack for stack in STACKS if "sqlite" not in stack)

CONCURRENCY = 4


def is_sqlite(stack: str) -> bool:
    return "sqlite" in stack


def engine_on(stack: str, where: str | Path, **options: Any) -> Engine | AsyncEngine:
    """`where` is a DSN of PostgreSQL, or a file."""
    driver = stack.removeprefix("sync ")
    if is_sqlite(stack):
        url = f"sqlite+{'aiosqlite' if driver == 'aiosqlite' else 'pysqlite'}:///{where}"
    else:
        url = str(where).replace("postgresql://", f"postgresql+{driver}://", 1)
    return create_async_engine(url, **options) if stack in WAITING else create_engine(url, **options)


def ledger_on(given: object, *, seed: int = 1, clock: ManualClock | None = None, master: bytes | None = None) -> Ledger:
    return ledger_driver("sqlalchemy", given).make(
        given,
        clock=clock or ManualClock(),
        chance=SeededChance(seed),
        seal=Seal([] if master is None else [master]),
        concurrency=CONCURRENCY,
        named="ledger",
    )


class StackOnPostgres(PostgresDesk):
    """A Desk whose ledgers are on an engine."""

    def __init__(self, stack: str, dsn: str, **options: Any) -> None:
        self.stack = stack
        self.engine = engine_on(stack, dsn, pool_size=CONCURRENCY, max_overflow=0, **options)
        super().__init__(dsn)

    def _new(self, seed: int) -> Any:
        engine = self.engine if seed == 1 else engine_on(self.stack, self.dsn)
        return ledger_on(engine, seed=seed)

    async def raw(self, connection: Any, statement: str) -> None:
        await sent(connection, statement)


class StackOnSqlite(SqliteDesk):
    def __init__(self, stack: str, path: Path, *, foreign_keys: bool = False, **options: Any) -> None:
        super().__init__(path)
        self.stack = stack
        self.engine = engine_on(stack, path, **options)
        if foreign_keys:
            event.listen(getattr(self.engine, "sync_engine", self.engine), "connect", _check_foreign_keys)
        self.ledger: Any = ledger_on(self.engine, clock=self.clock)

    async def another(self) -> Any:
        other: Any = ledger_on(engine_on(self.stack, self.path), seed=2, clock=self.clock)
        await other.open()
        self._others.append(other)
        return other

    async def raw(self, connection: Any, statement: str) -> None:
        await sent(connection, statement)


def _check_foreign_keys(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


async def sent(connection: Any, statement: str) -> None:
    """Over the driver's own connection, whichever it is."""
    if type(connection).__module__.startswith("psycopg2"):
        with connection.cursor() as cursor:
            cursor.execute(statement)
        return
    answer = connection.execute(statement)
    if hasattr(answer, "__await__"):
        await answer


def checked_out(engine: Engine | AsyncEngine) -> int:
    pool: Any = engine.pool
    # SQLAlchemy before 2.0.38 keeps no connection of aiosqlite, and so counts none.
    return int(pool.checkedout()) if hasattr(pool, "checkedout") else 0


@asynccontextmanager
async def desk_on(stack: str, where: str | Path, **options: Any) -> AsyncIterator[StackOnPostgres | StackOnSqlite]:
    """Open, and beside the tables of the suite."""
    desk: Any = StackOnSqlite(stack, Path(where), **options) if is_sqlite(stack) else None
    desk = desk or StackOnPostgres(stack, str(where), **options)
    await desk.open()
    try:
        yield desk
    finally:
        await desk.close()
