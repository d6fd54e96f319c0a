"""What a handler writes on: psycopg's own connection, or `tx` in front of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import lru_cache
from typing import Any

import psycopg

from landfast.ledgers import control
from landfast.ledgers.psycopg import lending
from landfast.ledgers.savepoints import savepoint
from landfast.ports.ledger import Batch

IDLE = lending.IDLE


class Row(tuple[Any, ...]):
    """By number or by name, as asyncpg's."""

    __slots__ = ()
    _names: tuple[str, ...] = ()

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(self._names.index(key) if isinstance(key, str) else key)

    def keys(self) -> tuple[str, ...]:
        return self._names


class PsycopgHandle:
    """A Transaction, and the Scope around it, on a connection that waits for the loop. `$1` and `%s` are both
    understood: the first as everywhere in Landfast, the second as everywhere in psycopg."""

    raw_cursor: type = psycopg.AsyncRawCursor

    dialect = "postgresql"

    def __init__(self, connection: Any, said: dict[str, str | None]) -> None:
        """`said` is for what the handlers of its transaction set."""
        self._watch = lending.Watch(said)
        self._lent = lending.lend(connection, self._watch)
        self._real = connection
        self._savepoints = 0
        self._ended = False

    @property
    def handle(self) -> PsycopgHandle:
        return self

    @property
    def used(self) -> bool:
        return self._watch.used

    @property
    def may_have_set(self) -> bool:
        return self._watch.may_have_set

    @property
    def connection(self) -> Any:
        if self._ended:
            raise control.ended()
        return self._lent

    def given(self, kind: str) -> Any:
        if kind == "connection":
            return self.connection
        raise control.not_given(kind, "psycopg")

    def before_others(self, _sending: object) -> bool:
        return False

    closes_at_once = True

    async def close(self) -> None:
        """What the handler left open would be undone behind our back, or held against the next event."""
        if self._ended:
            return
        if (refused := self._watch.refused) is not None:
            raise refused
        if self.is_left_running:
            raise control.left_running()
        if self.has_left_open:
            raise lending.left_open()
        self.end()

    @property
    def is_left_running(self) -> bool:
        return bool(self._real.lock.locked())

    @property
    def has_left_open(self) -> bool:
        """A `conn.transaction()` or a pipeline that was entered and not left."""
        state = self._real.__dict__
        return bool(state.get("_num_transactions")) or state.get("_pipeline") is not None

    def end(self) -> None:
        self._ended = True
        lending.end(self._lent)

    async def execute(self, query: str, *args: Any) -> str:
        return (await self._sent(query, args)).statusmessage or ""

    async def fetch(self, query: str, *args: Any) -> Sequence[Row]:
        return await self._rows(await self._sent(query, args))

    async def fetchrow(self, query: str, *args: Any) -> Row | None:
        found = await self.fetch(query, *args)
        return found[0] if found else None

    async def fetchval(self, query: str, *args: Any) -> Any:
        row = await self.fetchrow(query, *args)
        return None if row is None else row[0]

    async def send_all(self, batches: Sequence[Batch]) -> None:
        async with self.connection.pipeline() if len(batches) > 1 else nullcontext():
            for query, rows in batches:
                await self._cursor(query, rows[0]).executemany(query, rows)

    def savepoint(self) -> AbstractAsyncContextManager[None]:
        self._savepoints += 1
        return savepoint(self._savepoints, self.execute, is_open=self._is_open)

    def _is_open(self) -> bool:
        return bool(not self._ended and not self._real.closed and self._real.pgconn.transaction_status != IDLE)

    async def _sent(self, query: str, args: Sequence[Any]) -> Any:
        cursor = self._cursor(query, args)
        await cursor.execute(query, args or None)
        return cursor

    async def _rows(self, cursor: Any) -> Sequence[Row]:
        return [] if cursor.description is None else await cursor.fetchall()

    def _cursor(self, query: str, args: Sequence[Any]) -> Any:
        kind = self._real.__dict__["cursor_factory"] if args and control.has_percent(query) else self.raw_cursor
        return lending.cursor_of(self.connection, kind, row_factory=row_factory)


class BlockingPsycopgHandle(PsycopgHandle):
    """The same in a lane: nothing here suspends."""

    raw_cursor = psycopg.RawCursor

    async def send_all(self, batches: Sequence[Batch]) -> None:
        with self.connection.pipeline() if len(batches) > 1 else nullcontext():
            for query, rows in batches:
                self._cursor(query, rows[0]).executemany(query, rows)

    async def _sent(self, query: str, args: Sequence[Any]) -> Any:
        cursor = self._cursor(query, args)
        cursor.execute(query, args or None)
        return cursor

    async def _rows(self, cursor: Any) -> Sequence[Row]:
        return [] if cursor.description is None else cursor.fetchall()


def row_factory(cursor: Any) -> Any:
    return _row_class(tuple(column.name for column in cursor.description or ()))


@lru_cache(control.QUERIES)
def _row_class(names: tuple[str, ...]) -> type[Row]:
    return type("Row", (Row,), {"__slots__": (), "_names": names})
