"""A connection in a thread of its own: no statement, however slow, holds up the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from landfast.ledgers.limits import RECEIPT_WAIT

T = TypeVar("T")

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a COMMIT that a power cut can undo would let a handler run twice
    "PRAGMA foreign_keys = ON",  # the guard row is a foreign key
)


class ConnectionThread:
    """Everything runs in the order in which it was asked for, one at a time."""

    def __init__(self, path: Path, name: str) -> None:
        self._path = path
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._connection: sqlite3.Connection | None = None

    @property
    def connection(self) -> sqlite3.Connection:
        if self._connection is None:
            raise sqlite3.OperationalError("the ledger is not open")
        return self._connection

    async def open(self) -> None:
        await self._in_thread(self._connect)

    async def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """A caller that is cancelled leaves the work to finish, or not, in its place in the queue."""
        return await self._in_thread(lambda: work(self.connection))

    async def reopen(self) -> None:
        """A new connection: whoever still holds the old one finds it closed."""
        await self._in_thread(self._reconnect)

    async def close(self) -> None:
        await self._in_thread(self._disconnect)
        self._executor.shutdown()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)

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
