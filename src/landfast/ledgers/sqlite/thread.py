"""A connection in a thread of its own: no statement, however slow, holds up the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from landfast.ledgers.limits import RECEIPT_WAIT

T = TypeVar("T")

Job = tuple[Callable[[], Any], asyncio.Future[Any]]

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a COMMIT that a power cut can undo would let a handler run twice
    "PRAGMA foreign_keys = ON",  # the guard row is a foreign key
)


MOVED = "the file was moved or replaced while it was open; put it back, or restart Landfast"


class ConnectionThread:
    """Everything runs in the order in which it was asked for, one at a time. A queue and a thread, because a statement
    through an executor costs twice as much, and every event has some."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._inode: tuple[int, int] | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.OperationalError("the ledger is not open")
        return self._connection

    def is_in_place(self) -> bool:
        """Whether the path still leads to the file that was opened first. SQLite goes on writing to one that was moved
        or removed, and nobody would ever find what is committed there."""
        return self._inode is not None and self._inode == _inode(self._path)

    async def open(self) -> None:
        await self._in_thread(self._connect)
        self._inode = _inode(self._path)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A caller that is cancelled leaves the work to finish, or not, in its place in the queue."""
        return await self._in_thread(lambda: work(self.connection))

    async def reopen(self) -> None:
        """A new connection: whoever still holds the old one finds it closed."""
        await self._in_thread(self._reconnect)

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
        connection = sqlite3.connect(
            self._path,
            timeout=RECEIPT_WAIT,
            isolation_level=None,  # we say BEGIN and COMMIT ourselves
            check_same_thread=False,  # a `def` handler may use tx.connection from its own thread
        )
        try:
            connection.row_factory = sqlite3.Row
            for setting in _SETTINGS:
                connection.execute(setting).close()
        except sqlite3.Error:
            connection.close()
            raise
        self._connection = connection

    def _reconnect(self) -> None:
        self._disconnect()
        self._connect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


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
