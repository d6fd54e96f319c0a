"""psycopg's connections under SQLAlchemy's, waiting or blocking, and psycopg2's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from landfast.ledgers import control
from landfast.ledgers.postgres import libpq
from landfast.ledgers.sqlalchemy.raw import Descriptor, NamedRow, as_pyformat, named_row, numbered

if TYPE_CHECKING:
    from landfast.ledgers.sqlalchemy.fences import Fence

_IDLE = 0
_UNKNOWN = 4
"""Of libpq's states of a transaction: outside of any, and a connection that is lost."""


_ENDING = ("commit", "rollback", "set_autocommit", "set_isolation_level")
"""Not `close`, which SQLAlchemy calls on a connection that it throws away, and after which the server rolls back."""


class PsycopgRaw:
    """Of a blocking connection. While a handler has it, its ways to end the transaction refuse to."""

    dialect = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._descriptor = Descriptor(connection.fileno())
        self._shield: _Shield | None = None

    def is_gone(self) -> bool:
        return bool(self._connection.closed)

    def is_in_transaction(self) -> bool:
        return self._connection.pgconn.transaction_status not in (_IDLE, _UNKNOWN)

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:  # noqa: ARG002 - who waits on the loop has the patience
        from psycopg import RawCursor

        with RawCursor(self._connection) as cursor:
            return _last_tag(cursor.execute(query, values or None))

    async def say(self, text: str, *, patience: float) -> str:  # noqa: ARG002 - the same
        return libpq.say(self._connection, text)

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:  # noqa: ARG002
        from psycopg import RawCursor

        with RawCursor(self._connection, row_factory=_named) as cursor:
            cursor.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        from psycopg import RawCursor

        with RawCursor(self._connection) as cursor:
            cursor.executemany(query, rows)

    def lend(self, fence: Fence) -> Any:
        self._shield = self._shield or _Shield(self._connection, fence)
        return self._connection

    def take_back(self) -> None:
        if self._shield is not None:
            self._shield.remove()
            self._shield = None

    def hang_up(self) -> None:
        self._descriptor.hang_up()

    def close(self) -> None:
        self._descriptor.close()


class AsyncPsycopgRaw(PsycopgRaw):
    """Of a connection that waits on the loop."""

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:
        from psycopg import AsyncRawCursor

        async with AsyncRawCursor(self._connection) as cursor:
            with self._waiting(patience):
                await cursor.execute(query, values or None)
            return _last_tag(cursor)

    async def say(self, text: str, *, patience: float) -> str:
        with self._waiting(patience):
            return await libpq.say_and_wait(self._connection, text)

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:
        from psycopg import AsyncRawCursor

        async with AsyncRawCursor(self._connection, row_factory=_named) as cursor:
            with self._waiting(patience):
                await cursor.execute(query, values or None)
            return await cursor.fetchall() if cursor.description else []

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        from psycopg import AsyncRawCursor

        async with AsyncRawCursor(self._connection) as cursor:
            await cursor.executemany(query, rows)

    @contextmanager
    def _waiting(self, patience: float | None) -> Iterator[None]:
        """psycopg does not give up when it is cancelled: it asks the server to, and waits for the answer. So we hang up
        on a server that says nothing."""
        alarm = None if patience is None else asyncio.get_running_loop().call_later(patience, self.hang_up)
        try:
            yield
        finally:
            if alarm is not None:
                alarm.cancel()


class Psycopg2Raw:
    """Its methods cannot be replaced: a handler that rolls back and commits on it is noticed, and not kept from it."""

    dialect = "postgresql"

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._descriptor = Descriptor(connection.fileno())

    def is_gone(self) -> bool:
        return bool(self._connection.closed)

    def is_in_transaction(self) -> bool:
        return self._connection.get_transaction_status() not in (_IDLE, _UNKNOWN)

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:  # noqa: ARG002
        with self._connection.cursor() as cursor:
            _send(cursor, query, values)
            return cursor.statusmessage or ""

    async def say(self, text: str, *, patience: float) -> str:  # noqa: ARG002
        return await self.execute(text, ())

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:  # noqa: ARG002
        with self._connection.cursor() as cursor:
            _send(cursor, query, values)
            if cursor.description is None:
                return []
            names = [column.name for column in cursor.description]
            return [named_row(names, list(map(_plain, row))) for row in cursor.fetchall()]

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        from psycopg2.extras import execute_batch

        with self._connection.cursor() as cursor:
            if rows[0]:
                execute_batch(cursor, as_pyformat(query), list(map(numbered, rows)))
            else:
                for _ in rows:
                    cursor.execute(query)

    def lend(self, _fence: Fence) -> Any:
        return self._connection

    def take_back(self) -> None:
        """What a handler holds goes on working, and meets the next transaction on this connection."""

    def hang_up(self) -> None:
        self._descriptor.hang_up()

    def close(self) -> None:
        self._descriptor.close()


class _Shield:
    """SQLAlchemy's own calls come through it, too: a rollback that its hooks have seen is let through."""

    def __init__(self, connection: Any, fence: Fence) -> None:
        self._connection = connection
        for name in _ENDING:
            connection.__dict__[name] = _refusing(getattr(connection, name), name, fence)

    def remove(self) -> None:
        for name in _ENDING:
            self._connection.__dict__.pop(name, None)


def _refusing(method: Callable[..., Any], name: str, fence: Fence) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if fence.is_up and not fence.is_lost:
            raise control.ended_by_handler()
        return method(*args, **kwargs)

    call.__name__ = name
    return call


@contextmanager
def commits_unsent(connection: Any) -> Iterator[None]:
    """A COMMIT that SQLAlchemy tells psycopg to send is not sent meanwhile: ours goes out with what belongs to it."""
    connection.__dict__["commit"] = _waits if asyncio.iscoroutinefunction(connection.commit) else _blocks
    try:
        yield
    finally:
        connection.__dict__.pop("commit", None)


async def _waits() -> None: ...


def _blocks() -> None: ...


def _last_tag(cursor: Any) -> str:
    """psycopg shows the first result first."""
    while cursor.nextset():
        pass
    return cursor.statusmessage or ""


def _named(cursor: Any) -> Callable[[Sequence[Any]], NamedRow]:
    names = [column.name for column in cursor.description or ()]
    return lambda values: named_row(names, values)


def _send(cursor: Any, query: str, values: Sequence[Any]) -> None:
    if values:
        cursor.execute(as_pyformat(query), numbered(values))
    else:
        cursor.execute(query)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
