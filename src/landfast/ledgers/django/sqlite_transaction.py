"""The receipt-first transaction on Django's connection to SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar, cast

from landfast.ledgers import control
from landfast.ledgers.django.handle import django_savepoint
from landfast.ledgers.django.lanes import DjangoLanes
from landfast.ledgers.django.sqlite import RowConnection, SqliteConnection, inode_of
from landfast.ledgers.django.transaction import DjangoTransaction
from landfast.ledgers.sqlite.handle import SqliteHandle
from landfast.ledgers.sqlite.transaction import SqliteTransaction
from landfast.ports.clock import Clock
from landfast.sealing import Seal
from landfast.thread_calls import finish

T = TypeVar("T")


def begin_sqlite(lanes: DjangoLanes, path: Path | None, lock: LoopLock, clock: Clock, seal: Seal) -> DjangoTransaction:
    """By the holder of the lock, which the transaction gives back."""
    lane = lanes.take()
    assert isinstance(lane.connection, SqliteConnection)  # noqa: S101 - for the type checker
    thread = DjangoThread(lane.connection, path)
    inner = DjangoSqliteTransaction(cast(Any, thread), cast(Any, lock), clock, seal)
    thread.transaction = DjangoTransaction(inner, lane, lanes, inner.handle, gone=lock.release)
    return thread.transaction


class LoopLock:
    """The lock of one writer in this process, held by one transaction. It belongs to the loop, and is given back by the
    thread at the end, or by the loop if no thread could be started."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._loop = asyncio.get_running_loop()
        self._is_back = False

    def release(self) -> None:
        if not self._is_back:
            self._is_back = True
            self._loop.call_soon_threadsafe(self._lock.release)


class DjangoThread:
    """A ConnectionThread on Django's connection: the thread is a lane, and all that is asked of it is done there."""

    transaction: DjangoTransaction

    def __init__(self, connection: SqliteConnection, path: Path | None) -> None:
        self._path = path
        self._inode = inode_of(path) if path is not None else None
        self._rows = RowConnection(connection)
        self.of = connection

    @property
    def connection(self) -> RowConnection:
        return self._rows

    def is_in_place(self) -> bool:
        return self._path is None or self._inode == inode_of(self._path)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        rows = cast(sqlite3.Connection, self._rows)
        return await self.transaction.here(lambda: work(rows))

    take_back = run
    """What a handler holds of it is Django's, and of use in this thread only."""


class DjangoSqliteTransaction(SqliteTransaction):
    """Its coroutines block, and it begins when it is first used."""

    def __init__(self, thread: Any, lock: Any, clock: Clock, seal: Seal) -> None:
        super().__init__(thread, lock, clock, seal)
        self._handle = self.handle = DjangoSqliteHandle(thread)

    async def begin_now(self) -> None:
        await self.begin()

    async def say_begin(self) -> None:
        """It was said."""

    async def rollback(self) -> None:
        """In the thread, where nothing is awaited."""
        if not self._over:
            finish(self._roll_back())


class DjangoSqliteHandle(SqliteHandle):
    """As on a file of its own, but a savepoint is a block of Django's."""

    def __init__(self, thread: Any) -> None:
        super().__init__(thread)
        self._django: DjangoThread = thread

    @property
    def connection(self) -> sqlite3.Connection:
        super().connection  # noqa: B018 - which says when it has ended
        self._django.of.fence.used = True
        return self._django.connection.raw

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        return django_savepoint(self._django.of, self._there)

    async def _there(self, work: Callable[[], T]) -> T:
        return await self._django.run(lambda _: self._unless_ended(work))

    def _unless_ended(self, work: Callable[[], T]) -> T:
        if self._ended:
            raise control.ended()
        return work()
