"""A connection in a thread of its own, lent to handlers and taken back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from landfast.ledgers.sqlite.lending import LendableConnection
from landfast.own_thread import OwnThread

T = TypeVar("T")

MOVED = "the file was moved or replaced while it was open; put it back, or restart Landfast"


class ConnectionThread:
    """Statements run in the order in which they were asked for, one at a time."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._thread = OwnThread(name)
        self._current: LendableConnection | None = None
        self._retired: list[LendableConnection] = []
        """Ended for good, and still held by somebody when we looked last."""
        self._inode: tuple[int, int] | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._current is None:
            raise sqlite3.OperationalError("the ledger is not open")
        return self._current.connection

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened first. SQLite goes on writing to one that was moved
        or removed, and nobody would ever find what is committed there."""
        return self._inode is not None and self._inode == _inode(self._path)

    async def open(self) -> None:
        await self._thread.run(self._connect)
        self._inode = _inode(self._path)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        return await self._thread.run(lambda: work(self._connected()))

    async def take_back(self, end: Callable[[sqlite3.Connection], object]) -> None:
        """End the transaction in which the connection was lent. Somebody who still holds it, such as a `def` handler
        past its deadline, keeps one that writes nothing any more, and we go on with another. All of it is one job:
        between two of them the connection would be outside of a transaction, where SQLite commits each statement."""
        await self._thread.run(lambda: self._take_back(end))

    async def close(self) -> None:
        await self._thread.run(self._disconnect)
        self._thread.stop()

    def _connect(self) -> None:
        self._current = LendableConnection(self._path)

    def _connected(self) -> sqlite3.Connection:
        if self._current is None and self._inode is not None:  # it was taken back from a handler that held it
            if not self.is_in_place():
                raise sqlite3.OperationalError(MOVED)
            self._connect()
        return self.connection

    def _take_back(self, end: Callable[[sqlite3.Connection], object]) -> None:
        if self._current is None or not self._current.is_held_elsewhere():
            end(self.connection)
            return
        lent, self._current = self._current, None
        self._retired.append(lent)
        try:
            lent.end_for_good(end)
        finally:
            self._close_retired()

    def _close_retired(self) -> None:
        self._retired = [lent for lent in self._retired if not lent.close_unless_held()]

    def _disconnect(self) -> None:
        self._inode = None
        self._close_retired()
        if self._current is not None:
            self._current.connection.close()
            self._current = None


def _inode(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
