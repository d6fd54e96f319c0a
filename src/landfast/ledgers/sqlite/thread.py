"""A connection in a thread of its own: no statement, however slow, holds up the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from landfast.ledgers.sqlite.lending import LendableConnection

T = TypeVar("T")

Job = tuple[Callable[[], Any], asyncio.Future[Any]]

MOVED = "the file was moved or replaced while it was open; put it back, or restart Landfast"


class ConnectionThread:
    """Everything runs in the order in which it was asked for, one at a time. A queue and a thread, because a statement
    through an executor costs twice as much, and every event has some."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
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
        await self._in_thread(self._connect)
        self._inode = _inode(self._path)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A caller that is cancelled leaves the work to finish, or not, in its place in the queue."""
        return await self._in_thread(lambda: work(self._connected()))

    async def take_back(self, end: Callable[[sqlite3.Connection], object]) -> None:
        """End the transaction in which the connection was lent. Somebody who still holds it, such as a `def` handler
        past its deadline, keeps one that writes nothing any more, and we go on with another. All of it is one job:
        between two of them the connection would be outside of a transaction, where SQLite commits each statement."""
        await self._in_thread(lambda: self._take_back(end))

    async def close(self) -> None:
        await self._in_thread(self._disconnect)
        self._jobs.put(None)
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._thread is None:
            # A daemon, because a disk that never answers must not keep the process from ending.
            self._thread = threading.Thread(target=_serve, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((work, answer))
        return await answer

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


def _serve(jobs: SimpleQueue[Job | None]) -> None:
    while (job := jobs.get()) is not None:
        work, answer = job
        if not answer.cancelled():
            result, error = None, None
            try:
                result = work()
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it is the caller's to handle
                error = raised
            _tell(answer, result, error)
            # Nothing of the last job may stay alive here until the next one comes.
            del result, error
        del job, work, answer


def _tell(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    try:
        answer.get_loop().call_soon_threadsafe(_deliver, answer, result, error)
    except RuntimeError:
        return  # the loop has closed: nobody is left to tell


def _deliver(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if answer.cancelled():
        return
    if error is None:
        answer.set_result(result)
    else:
        # A future refuses StopIteration, and whoever waits for it would wait for ever.
        answer.set_exception(RuntimeError(repr(error)) if isinstance(error, StopIteration) else error)
