"""A transaction of ours on SQLite through SQLAlchemy, on the loop (aiosqlite) or in a lane (sqlite3)."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from landfast.domain.arrival import Arrived
from landfast.domain.effect import StagedEffect
from landfast.domain.outcome import ReceiptKey
from landfast.ledgers import control
from landfast.ledgers.sqlalchemy import sqlite_guard
from landfast.ledgers.sqlalchemy.driving import Driving
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlalchemy.joined import Joined
from landfast.ledgers.sqlalchemy.scope import SessionScope
from landfast.ledgers.sqlalchemy.sqlite_guard import SqliteGuard
from landfast.ledgers.sqlalchemy.target import Target
from landfast.ledgers.sqlite import rows
from landfast.ledgers.sqlite.handle import SqliteHandle
from landfast.ledgers.sqlite.thread import ConnectionThread
from landfast.ledgers.sqlite.transaction import SqliteTransaction
from landfast.ports.clock import Clock
from landfast.sealing import Seal

T = TypeVar("T")


class BorrowedConnection:
    """In the place of a ConnectionThread: a connection of the user's pool, in whatever thread it lives."""

    def __init__(self, desk: ConnectionThread) -> None:
        self._desk = desk
        self.driver: Any = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self.driver is None:
            raise control.ended()
        found: sqlite3.Connection = getattr(self.driver, "_conn", self.driver)
        return found

    def is_in_place(self) -> bool:
        return self._desk.is_in_place()

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection = self.connection

        def with_rows() -> T:
            before, connection.row_factory = connection.row_factory, sqlite3.Row
            try:
                return work(connection)
            finally:
                connection.row_factory = before

        if self.driver is connection:
            return with_rows()
        try:
            result: T = await self.driver._execute(with_rows)  # noqa: SLF001 - aiosqlite has no other way into its thread
        except ValueError as error:  # its word for a connection that is closed
            raise sqlite3.OperationalError(str(error)) from error
        return result

    def interrupt(self) -> None:
        """And roll back soon in aiosqlite's thread, before SQLAlchemy closes the connection there: SQLite keeps the
        lock of a closed one for as long as anybody holds one of its statements, and the trace of an error does."""
        driver = self.driver  # which its thread may give back meanwhile
        try:
            connection: sqlite3.Connection | None = getattr(driver, "_conn", driver)
        except ValueError:  # aiosqlite has closed it
            return
        if connection is None:
            return
        with contextlib.suppress(sqlite3.Error):  # it is closed already
            connection.interrupt()
        if driver is connection:
            return

        def roll_back() -> None:
            with contextlib.suppress(sqlite3.Error):
                rows.roll_back(connection)

        with contextlib.suppress(ValueError, StopIteration):  # it is closed already
            driver._execute(roll_back).send(None)  # noqa: SLF001 - as above; it is in the queue now


class BorrowedHandle(SqliteHandle):
    """`tx` on such a connection. Its `connection` is the driver's own, aiosqlite's where that is the driver."""

    def __init__(self, borrowed: BorrowedConnection) -> None:
        super().__init__(borrowed)  # type: ignore[arg-type]
        self._borrowed = borrowed

    @property
    def connection(self) -> Any:
        if self._ended:
            raise control.ended()
        self.used = True
        return self._borrowed.driver


class SqlalchemySqliteTransaction(SqliteTransaction):
    def __init__(
        self,
        target: Target,
        driving: Driving,
        desk: ConnectionThread,
        clock: Clock,
        seal: Seal,
        gone: Callable[[], None],
    ) -> None:
        """`gone` is called when the connection is back in its pool: whoever waits to write may go on."""
        borrowed = BorrowedConnection(desk)
        super().__init__(borrowed, asyncio.Lock(), clock, seal)  # type: ignore[arg-type]
        self._borrowed = borrowed
        self._handle: SqliteHandle = BorrowedHandle(borrowed)
        self._target = target
        self._driving = driving
        self.fence = Fence()
        self._is_hung_up = False
        self._joined = Joined(target.fenced, self.fence)
        self._guard = SqliteGuard()
        self._unanswered = False
        self._gone = gone

    async def begin(self) -> None:
        try:
            self._borrowed.driver = await self._driving.run(self._joined.connect)
        except DBAPIError as error:
            raise _plain(error) from error
        fence, connection = self.fence, self._borrowed.connection
        fence.is_in_transaction = lambda: connection.in_transaction
        fence.on_cancel = self.hang_up
        info = self._joined.info
        is_new = sqlite_guard.INFO not in info
        guard = self._guard = info.setdefault(sqlite_guard.INFO, self._guard)

        def work(raw: sqlite3.Connection) -> None:
            if is_new:
                raw.set_authorizer(guard.authorize)
            sqlite_guard.begin(raw, guard, fence)
            raw.execute(rows.SQL["guard"])

        await self._own(work)

    async def scope(self) -> SessionScope:  # type: ignore[override]
        self._handle.used = False
        return SessionScope(self._joined, self._driving, self._target, self._handle)

    async def check(self) -> None:
        self._joined.check()
        await super().check()

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        self.fence.end()
        await super().commit(results=results, effects=effects, arrivals=arrivals)

    async def rollback(self) -> None:
        if not self._driving.blocks:
            await super().rollback()
        elif not self._over:
            await self._roll_back()

    def hang_up(self) -> None:
        """From the loop, while a handler in the lane has overrun its deadline, or when one on the loop is cancelled."""
        self._is_hung_up = True
        self.fence.lose(control.ended())
        self._handle.end()
        self._borrowed.interrupt()

    def _examine(self, connection: sqlite3.Connection) -> None:
        self._joined.check()
        super()._examine(connection)

    async def _commit_now(self) -> None:
        try:
            await self._driving.to_its_end(self._joined.commit)
        except DBAPIError as error:
            raise _plain(error) from error
        await self._return()

    async def _roll_back(self) -> None:
        self._handle.end()
        try:
            await self._driving.until_quiet()
            if self._borrowed.driver is not None and self._joined.is_usable:
                with contextlib.suppress(sqlite3.Error):
                    await self._borrowed.run(rows.roll_back)
            await self._return()
        finally:
            self._give_back()

    async def _return(self) -> None:
        """The connection to its pool, with the settings that it came with."""
        if self._borrowed.driver is not None and self._joined.is_usable:
            with contextlib.suppress(sqlite3.Error):
                await self._borrowed.run(lambda raw: sqlite_guard.end(raw, self._guard))
        self._borrowed.driver = None  # somebody else's soon: whoever hangs up now interrupts nobody
        self._guard.fence = None
        with contextlib.suppress(SQLAlchemyError):
            await self._driving.run(lambda: self._joined.close(is_broken=False))

    def _give_back(self) -> None:
        if not self._over:
            self._over = True
            self._handle.end()
            if self._is_hung_up:
                self.fence.forget()
            self._gone()


def _plain(error: DBAPIError) -> BaseException:
    """sqlite3's own error, under SQLAlchemy's and aiosqlite's."""
    return error.orig if isinstance(error.orig, sqlite3.Error) else error
