"""What a handler writes on: asyncpg's shape over sqlite3."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from landfast.ledgers import control
from landfast.ledgers.savepoints import savepoint
from landfast.ledgers.sqlite.thread import ConnectionThread
from landfast.ports.ledger import Batch

T = TypeVar("T")

STEPS = 10_000
"""Of SQLite's machine, between two looks at whether anybody still waits for a statement: less than a millisecond."""


class SqliteHandle:
    """A Transaction, and the Scope around it. It has no way to commit."""

    dialect = "sqlite"

    def __init__(self, thread: ConnectionThread) -> None:
        self._thread = thread
        self._ended = False
        self._savepoints = 0
        self._fatal: sqlite3.Error | None = None
        self.lent = False
        """The handler has seen the connection itself."""
        self.used = False

    @property
    def handle(self) -> SqliteHandle:
        return self

    def given(self, kind: str) -> Any:
        if kind == "connection":
            return self.connection
        raise control.not_given(kind, "SQLite")

    def before_others(self, _sending: object) -> bool:
        return False

    closes_at_once = True

    async def close(self) -> None:
        """Nothing is left unsent."""

    @property
    def connection(self) -> sqlite3.Connection:
        # Taken before the look at `_ended`: whoever ends the transaction meanwhile, in another thread, sees that it is.
        self.lent = self.used = True
        connection = self._thread.connection
        if self._ended:
            raise control.ended()
        return connection

    async def execute(self, query: str, *args: Any) -> str:
        return await self._run(query, args, lambda cursor: _tag(query, cursor))

    async def fetch(self, query: str, *args: Any) -> Sequence[sqlite3.Row]:
        return await self._run(query, args, lambda cursor: cursor.fetchall())

    async def fetchrow(self, query: str, *args: Any) -> sqlite3.Row | None:
        return await self._run(query, args, _first)

    async def fetchval(self, query: str, *args: Any) -> Any:
        row = await self._run(query, args, _first)
        return None if row is None else row[0]

    async def send_all(self, batches: Sequence[Batch]) -> None:
        for query, _ in batches:
            control.refuse(query)

        def send(connection: sqlite3.Connection) -> None:
            for query, rows in batches:
                if control.verb(query) == "WITH":  # sqlite3 takes it for a read
                    for row in rows:
                        connection.execute(query, _bindings(row)).close()
                else:
                    connection.executemany(query, map(_bindings, rows)).close()

        await self._send(send)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        self._savepoints += 1
        return savepoint(self._savepoints, self.execute, is_open=self._is_open)

    def examine(self) -> None:
        """Outside of a transaction SQLite would commit each statement by itself, so look before each one."""
        if not self._thread.connection.in_transaction:
            raise (control.swallowed() if self._fatal else control.ended_by_handler()) from self._fatal

    def end(self) -> None:
        self._ended = True

    def _is_open(self) -> bool:
        return bool(not self._ended and self._thread.connection.in_transaction)

    async def _run(self, query: str, args: tuple[Any, ...], read: Callable[[sqlite3.Cursor], T]) -> T:
        control.refuse(query)

        def send(connection: sqlite3.Connection) -> T:
            cursor = connection.execute(query, _bindings(args))
            try:
                return read(cursor)
            finally:
                cursor.close()

        return await self._send(send)

    async def _send(self, send: Callable[[sqlite3.Connection], T]) -> T:
        self.used = True
        is_cancelled = False

        def work(connection: sqlite3.Connection) -> T:
            if self._ended:
                raise control.ended()
            self.examine()
            # Asked again and again: an interrupt that comes a moment before the statement begins would be lost.
            connection.set_progress_handler(lambda: is_cancelled, STEPS)
            try:
                return send(connection)
            except sqlite3.Error as error:
                if not connection.in_transaction:
                    self._fatal = error
                if "has no name" in str(error):
                    raise sqlite3.ProgrammingError(
                        "a placeholder is written $1, $2, ... and not ?; write $1"
                    ) from error
                raise
            finally:
                connection.set_progress_handler(None, 0)

        try:
            return await self._thread.run(work)
        except asyncio.CancelledError:
            is_cancelled = True
            raise


def _bindings(args: Sequence[Any]) -> dict[str, Any] | tuple[()]:
    # To SQLite `$1` is a parameter with the name "1".
    return {str(number): value for number, value in enumerate(args, 1)} if args else ()


def _first(cursor: sqlite3.Cursor) -> sqlite3.Row | None:
    row: sqlite3.Row | None = cursor.fetchone()
    return row


def _tag(query: str, cursor: sqlite3.Cursor) -> str:
    """PostgreSQL's command tag, as far as SQLite tells."""
    returned = sum(1 for _ in cursor)
    verb = control.verb(query)
    if verb in {"INSERT", "REPLACE"}:
        return f"INSERT 0 {max(0, cursor.rowcount)}"
    if verb in {"UPDATE", "DELETE"}:
        return f"{verb} {max(0, cursor.rowcount)}"
    return f"SELECT {returned}" if verb in {"SELECT", "VALUES", "WITH"} else verb
