"""The driver's own connection under SQLAlchemy's. Landfast's statements go over it, past the ORM, and so do those that
a handler sends with `tx.execute`. A blocking driver has the same coroutines, and they never suspend."""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Protocol

from landfast.ledgers import control
from landfast.ledgers.postgres.lending import LentConnection

if TYPE_CHECKING:
    from asyncpg import Connection, Record

    from landfast.ledgers.sqlalchemy.fences import Fence


class Raw(Protocol):
    """Errors are the driver's own."""

    dialect: str
    """Of SQL, as `ports.ledger.Transaction` has it."""

    def is_gone(self) -> bool: ...

    def is_in_transaction(self) -> bool: ...

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:
        """PostgreSQL's command tag, of the last statement: several may be in a query without values."""
        ...

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:
        """Rows that have their columns by name and by number. Placeholders are $1, $2."""
        ...

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        """One statement for each of these."""
        ...

    def lend(self, fence: Fence) -> Any:
        """What a handler may have in place of the connection, or the connection itself."""
        ...

    def take_back(self) -> None:
        """From now on, as far as this can be had, nothing that a handler holds sends a statement."""
        ...

    def hang_up(self) -> None:
        """Now, from any thread, without waiting: whoever waits for an answer gets an error."""
        ...

    def close(self) -> None:
        """What is ours. The connection goes back to its pool."""
        ...


class PostgresRaw(Raw, Protocol):
    async def say(self, text: str, *, patience: float) -> str:
        """Several statements of Landfast's own in one round trip; the command tag of the last."""
        ...


class AsyncpgRaw:
    dialect = "postgresql"

    def __init__(self, connection: Connection[Record]) -> None:
        self._connection = connection
        self._lent: LentConnection | None = None

    def is_gone(self) -> bool:
        return self._connection.is_closed()

    def is_in_transaction(self) -> bool:
        return self._connection.is_in_transaction()

    async def execute(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> str:
        return await self._connection.execute(query, *values, timeout=patience)

    async def say(self, text: str, *, patience: float) -> str:
        return await self._connection.execute(text, timeout=patience)

    async def fetch(self, query: str, values: Sequence[Any], *, patience: float | None = None) -> Sequence[Any]:
        return await self._connection.fetch(query, *values, timeout=patience)

    async def send_many(self, query: str, rows: Sequence[Sequence[Any]]) -> None:
        await self._connection.executemany(query, rows)

    def lend(self, _fence: Fence) -> Any:
        self._lent = self._lent or LentConnection(self._connection)
        return self._lent

    def take_back(self) -> None:
        if self._lent is not None:
            self._lent.end()

    def hang_up(self) -> None:
        self._connection.terminate()

    def close(self) -> None:
        """There is nothing of ours."""


class NamedRow(tuple[Any, ...]):  # noqa: SLOT001 - a tuple can have no slots of its own
    """A row with its columns by number, as every tuple, and by name."""

    names: Sequence[str]

    def __getitem__(self, at: Any) -> Any:
        return super().__getitem__(self.names.index(at) if isinstance(at, str) else at)

    def keys(self) -> Sequence[str]:
        return self.names


def named_row(names: Sequence[str], values: Sequence[Any]) -> NamedRow:
    row = NamedRow(values)
    row.names = names
    return row


class Descriptor:
    """A duplicate of a connection's socket: the number of the connection's own may be another file's by the time that
    somebody hangs up."""

    def __init__(self, number: int) -> None:
        self._socket: socket.socket | None = socket.socket(fileno=os.dup(number))

    def hang_up(self) -> None:
        line = self._socket  # which another thread may close meanwhile
        if line is not None:
            with contextlib.suppress(OSError):  # the other side was faster
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_TOKEN = re.compile(
    r"""(?:'(?:[^'\\]|''|\\.)*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|\$(?P<tag>[A-Za-z_]*)\$.*?\$(?P=tag)\$)"""
    r"""|\$(?P<number>\d+)|%""",
    re.DOTALL,
)


@lru_cache(control.QUERIES)
def as_pyformat(query: str) -> str:
    """`$1` as psycopg2 writes it, outside of strings, names and comments."""
    return _TOKEN.sub(_as_pyformat, query)


def _as_pyformat(found: re.Match[str]) -> str:
    if number := found["number"]:
        return f"%(p{number})s"
    return found[0].replace("%", "%%")


def numbered(values: Sequence[Any]) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(values, 1)}
