"""Landfast's own few connections to a MySQL server: each in a thread, because PyMySQL blocks."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import pymysql
from pymysql.constants import CLIENT

from landfast.ledgers import limits
from landfast.ledgers.mysql import faults
from landfast.ledgers.mysql.statements import BlockingStatements, Statements
from landfast.own_thread import OwnThread
from landfast.thread_calls import finish

T = TypeVar("T")

SIZE = 2
"""Connections: tombstones, receipts and effects never wait for a slow handler, nor much for each other."""

CONFLICTS_AT_MOST = 5
"""Times that a transaction of ours which met another one is run again, before it is told as an outage."""

_SESSION = (
    # What another transaction has committed meanwhile is seen, and no gap between two rows is locked.
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    # A value that does not fit is refused, and not cut off.
    f"SET SESSION sql_mode = 'STRICT_ALL_TABLES', innodb_lock_wait_timeout = {round(limits.RECEIPT_WAIT)}",
)

Work = Callable[[Statements], Coroutine[Any, Any, T]]


class Desk:
    def __init__(self, options: Mapping[str, Any]) -> None:
        """`options` are those of `pymysql.connect`."""
        self._options = options
        self._seats = [_Seat(options) for _ in range(SIZE)]
        self._free: asyncio.LifoQueue[_Seat] = asyncio.LifoQueue()

    @property
    def where(self) -> str:
        """For sentences: without user and password."""
        place = self._options.get("unix_socket") or f"{self._options.get('host', 'localhost')}"
        port = self._options.get("port")
        return f"{place}:{port}" if port and "unix_socket" not in self._options else str(place)

    async def open(self) -> None:
        self._free = asyncio.LifoQueue()
        for seat in self._seats:
            self._free.put_nowait(seat)

    async def close(self) -> None:
        for seat in self._seats:
            await seat.close()

    async def run(self, work: Work[T], *, waits_once: bool = False) -> T:
        """All of it in one transaction, or nothing. Errors are those of `faults.ANY`. A transaction that was chosen as
        the victim of a deadlock is run again; and, unless it `waits_once`, one that waited for a lock in vain."""
        seat = await self._free.get()
        try:
            for _ in range(CONFLICTS_AT_MOST):
                try:
                    return await seat.run(work)
                except faults.ANY as error:
                    if not faults.is_conflict(error) or (waits_once and faults.code(error) == faults.LOCK_WAIT):
                        raise
            return await seat.run(work)
        finally:
            self._free.put_nowait(seat)

    async def alone(self, work: Callable[[Any], T]) -> T:
        """On a connection of its own, without a transaction, which may take its time: for migrations."""
        thread = OwnThread("landfast-ledger-migration")

        def job() -> T:
            connection = connect(self._options, patience=limits.MIGRATION_WAIT, autocommit=True)
            try:
                return work(connection)
            finally:
                connection.close()

        try:
            return await thread.run(job)
        finally:
            thread.stop()


class _Seat:
    """A thread with a connection, which is made when it is needed and thrown away when it fails."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._options = options
        self._thread = OwnThread("landfast-ledger-desk")
        self._connection: Any = None

    async def run(self, work: Work[T]) -> T:
        return await self._thread.run(lambda: self._transact(work))

    async def close(self) -> None:
        await self._thread.run(self._hang_up)
        self._thread.stop()

    def _transact(self, work: Work[T]) -> T:
        connection = self._begun()
        try:
            answer = finish(work(BlockingStatements(connection)))
            connection.commit()
        except BaseException as error:
            if isinstance(error, faults.ANY) and faults.is_gone(error):
                self._hang_up()
            else:
                self._roll_back()
            raise
        return answer

    def _begun(self) -> Any:
        """Once more where the connection turns out to be dead: nothing has happened on it yet."""
        if self._connection is not None:
            try:
                self._connection.begin()
            except faults.ANY:
                self._hang_up()
            else:
                return self._connection
        self._connection = connect(self._options, patience=limits.ANSWER_WAIT)
        self._connection.begin()
        return self._connection

    def _roll_back(self) -> None:
        try:
            self._connection.rollback()
        except faults.ANY:
            self._hang_up()

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(*faults.ANY):
                connection.close()


def connect(options: Mapping[str, Any], *, patience: float, autocommit: bool = False) -> Any:
    """In a thread. It waits so many seconds for an answer."""
    made = {
        "charset": "utf8mb4",
        # A statement counts the rows that it found, also those that it left as they were.
        "client_flag": int(options.get("client_flag", 0)) | CLIENT.FOUND_ROWS,
        "connect_timeout": round(limits.CONNECT_WAIT),
        "read_timeout": round(patience),
        "write_timeout": round(patience),
        "autocommit": autocommit,
    }
    connection = pymysql.connect(**{**options, **made})
    try:
        with connection.cursor() as cursor:
            for statement in _SESSION:
                cursor.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection
