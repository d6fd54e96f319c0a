"""The ledger on the connection of a test: all of it, the desk too, in the test's own thread and transaction.

A lane has a connection of its own, which does not see what a `django.test.TestCase` wrote and never commits. So the
test kit says `with inline("default"):` and runs the loop by `async_to_sync`: while that thread waits for the loop, it
does what the ledger asks for.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from typing import Any, TypeVar, cast

from landfast.domain import isolation as levels
from landfast.domain.errors import ReceiptBusyError
from landfast.domain.fault import Fault
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import limits, reserving
from landfast.ledgers.django.databases import SCHEME, vendor_of
from landfast.ledgers.django.handle import django_savepoint
from landfast.ledgers.django.lanes import DjangoLanes
from landfast.ledgers.django.postgres import PostgresConnection
from landfast.ledgers.django.sqlite import RowConnection, SqliteConnection
from landfast.ledgers.django.sqlite_transaction import LoopLock, begin_sqlite
from landfast.ledgers.django.transaction import DjangoTransaction
from landfast.ledgers.django.wire import begin_postgres
from landfast.ledgers.postgres import PostgresLedger, faults, foreign_errors
from landfast.ledgers.postgres import rows as postgres_rows
from landfast.ledgers.postgres.dbapi import DbapiStatements, named, percent
from landfast.ledgers.sqlite import SqliteLedger
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal

T = TypeVar("T")

_ALIASES: set[str] = set()


@contextmanager
def inline(alias: str = "default") -> Iterator[None]:
    """Ledgers on this alias that are made meanwhile live in the thread that runs the loop by `async_to_sync`."""
    _ALIASES.add(alias)
    try:
        yield
    finally:
        _ALIASES.discard(alias)


def is_inline(alias: str) -> bool:
    return alias in _ALIASES


def inline_ledger(
    alias: str, *, clock: Clock, chance: Chance, seal: Seal | None = None
) -> InlinePostgresLedger | InlineSqliteLedger:
    kind = InlineSqliteLedger if vendor_of(f"{SCHEME}{alias}") == "sqlite" else InlinePostgresLedger
    return kind(alias, clock=clock, chance=chance, seal=seal)


class InlinePostgresLedger(PostgresLedger):
    def __init__(self, alias: str, *, clock: Clock, chance: Chance, seal: Seal | None = None) -> None:
        super().__init__("", clock=clock, chance=chance, seal=seal)
        self._desk_connection = PostgresConnection(alias, is_inline=True)
        self._lanes = DjangoLanes(lambda: PostgresConnection(alias, is_inline=True), is_inline=True)

    async def begin(self, *, deadline: float, isolation: str | None = None) -> DjangoTransaction:  # type: ignore[override]
        silence = deadline + limits.STOPPED_GRACE
        level = levels.level(isolation)
        return begin_postgres(self._lanes, level, silence=silence, seal=self._seal, may_keep=False)

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        return await reserving.bury_alone(await self.begin(deadline=limits.ANSWER_WAIT), tombstones, forced)

    def diagnose(self, error: BaseException) -> Fault:
        return foreign_errors.diagnose(error)

    async def open(self) -> None:
        """Django has it open, or opens it."""

    async def close(self) -> None: ...

    async def hazards(self) -> Sequence[str]:
        """A test database need not keep anything."""
        return []

    async def scrub(self) -> bool:
        """Nothing of a test stays."""
        return True

    async def _fetch(self, name: str, *values: Any) -> Any:
        async with self._connection() as connection:
            return await connection.fetch(postgres_rows.SQL[name], *values)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        try:
            yield _Desk(self._desk_connection, self._lanes)
        except faults.ANY as error:
            raise faults.unavailable(error) from error


class _Desk:
    """The test's connection in asyncpg's shape, as far as a PostgresLedger uses it."""

    def __init__(self, connection: PostgresConnection, lanes: DjangoLanes) -> None:
        self._of = connection
        self._lane = lanes.take()
        lanes.give_back(self._lane)

    async def fetch(self, query: str, *values: Any, timeout: float | None = None) -> list[_Row]:  # noqa: ARG002, ASYNC109 - asyncpg's signature
        return await self._here(lambda raw: _fetched(raw, query, values))

    async def execute(self, query: str, *values: Any, timeout: float | None = None) -> None:  # noqa: ASYNC109 - same
        await self.fetch(query, *values, timeout=timeout)

    async def fetchval(self, query: str, *values: Any, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - same
        found = await self.fetch(query, *values, timeout=timeout)
        return next(iter(found[0].values())) if found else None

    async def fetchrow(self, query: str, *values: Any, timeout: float | None = None) -> _Row | None:  # noqa: ASYNC109 - same
        found = await self.fetch(query, *values, timeout=timeout)
        return found[0] if found else None

    async def executemany(self, query: str, each: Sequence[Sequence[Any]]) -> None:
        for values in each:
            await self.fetch(query, *values)

    def transaction(self, *, isolation: str | None = None) -> AbstractAsyncContextManager[None]:  # noqa: ARG002 - the test's
        return django_savepoint(self._of, self._lane.here)

    async def _here(self, work: Callable[[Any], T]) -> T:
        def do() -> T:
            wrapper = self._of.wrapper
            wrapper.ensure_connection()
            with foreign_errors.translating():
                return work(wrapper.connection)

        return await self._lane.here(do)


class _Row(dict[str, Any]):
    """By name; unpacked, its values."""

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values())


def _fetched(raw: Any, query: str, values: Sequence[Any]) -> list[_Row]:
    with DbapiStatements(raw)._cursor() as cursor:  # noqa: SLF001 - one that returns no rows is fetched here, too
        if values:
            cursor.execute(percent(query), named(values))
        else:
            cursor.execute(query)
        if cursor.description is None:
            return []
        names = [column[0] for column in cursor.description]
        plain = [[bytes(cell) if isinstance(cell, memoryview) else cell for cell in row] for row in cursor.fetchall()]
        return [_Row(zip(names, row, strict=True)) for row in plain]


class InlineSqliteLedger(SqliteLedger):
    def __init__(self, alias: str, *, clock: Clock, chance: Chance, seal: Seal | None = None) -> None:
        super().__init__("in a test", clock=clock, chance=chance, seal=seal)
        self._lanes = DjangoLanes(lambda: SqliteConnection(alias, is_inline=True), is_inline=True)
        self._writer = self._reader = cast(Any, _InlineThread(SqliteConnection(alias, is_inline=True), self._lanes))

    async def begin(self, *, deadline: float, isolation: str | None = None) -> DjangoTransaction:  # type: ignore[override]  # noqa: ARG002 - nobody ends it
        levels.level(isolation)
        await self._lock.acquire()
        return begin_sqlite(self._lanes, None, LoopLock(self._lock), self._clock, self._seal)

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        try:
            async with asyncio.timeout(limits.RECEIPT_WAIT):
                tx = await self.begin(deadline=limits.ANSWER_WAIT)
        except TimeoutError:
            raise ReceiptBusyError("ledger: a handler's transaction is open") from None
        return await reserving.bury_alone(tx, tombstones, forced)

    async def hazards(self) -> Sequence[str]:
        """A test database need not keep anything."""
        return []

    async def scrub(self) -> bool:
        """Nothing of a test stays."""
        return True


class _InlineThread:
    """The test's connection as a SqliteLedger uses its own."""

    def __init__(self, connection: SqliteConnection, lanes: DjangoLanes) -> None:
        self._of = connection
        self._rows = RowConnection(connection)
        self._lanes = lanes

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def is_in_place(self) -> bool:
        return True

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def do() -> T:
            if not self._of.is_open:
                self._of.wrapper.ensure_connection()
                self._of.raw = self._of.wrapper.connection
            return work(cast(sqlite3.Connection, self._rows))

        lane = self._lanes.take()
        try:
            return await lane.here(do)
        finally:
            self._lanes.give_back(lane)
