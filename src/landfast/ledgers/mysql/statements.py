"""Landfast's statements over a connection of PyMySQL's or aiomysql's. Those of a blocking one never suspend."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from landfast.ledgers import limits
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.rows import Values

if TYPE_CHECKING:
    from landfast.ledgers.rows import Row


class Statements(Protocol):
    """Errors are the driver's own, and `faults.ANY` has them all."""

    async def fetch(self, query: str, values: Values | None = None) -> Sequence[Row]:
        """Rows whose columns have names. Placeholders are %(name)s."""
        ...

    async def execute(self, query: str, values: Values | None = None) -> int:
        """How many rows it changed."""
        ...


class BlockingStatements:
    """On PyMySQL's connection. Cursors are the plain ones: the user's connection may make others by default."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, query: str, values: Values | None = None) -> Sequence[Row]:
        with self._cursor() as cursor:
            cursor.execute(query, values or None)
            return named(cursor.description, cursor.fetchall())

    async def execute(self, query: str, values: Values | None = None) -> int:
        with self._cursor() as cursor:
            return int(cursor.execute(query, values or None))

    def _cursor(self) -> Any:
        from pymysql.cursors import Cursor

        return Cursor(self._connection)


class WaitingStatements:
    """On aiomysql's connection."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, query: str, values: Values | None = None) -> Sequence[Row]:
        async with asyncio.timeout(limits.ANSWER_WAIT), quiet_cursor(self._connection) as cursor:
            await cursor.execute(written(self._connection, query, values))
            return named(cursor.description, await cursor.fetchall())

    async def execute(self, query: str, values: Values | None = None) -> int:
        async with asyncio.timeout(limits.ANSWER_WAIT), quiet_cursor(self._connection) as cursor:
            return int(await cursor.execute(written(self._connection, query, values)))


def written(connection: Any, query: str, values: Values | None) -> str:
    """The statement with its values in it. aiomysql would do it, too, but has no way to write bytes with every version
    of PyMySQL."""
    if not values:
        return query
    return query % {
        name: f"X'{value.hex()}'" if isinstance(value, bytes) else connection.escape(value)
        for name, value in values.items()
    }


def quiet_cursor(connection: Any) -> Any:
    """A plain cursor, but for aiomysql's habit to ask for the server's warnings after a statement that has some."""
    from aiomysql import Cursor

    class Quiet(Cursor):  # type: ignore[misc]
        async def _show_warnings(self, _connection: Any) -> None:
            """Nobody reads them."""

    return Quiet(connection)


def named(description: Any, found: Sequence[Sequence[Any]]) -> Sequence[Row]:
    names = [column[0] for column in description or ()]
    return [dict(zip(names, row, strict=True)) for row in found]


async def change_all(statements: Statements, name: str, given: Sequence[Values]) -> int:
    """One statement of ours for each; how many rows they changed."""
    changed = 0
    for each in given:
        changed += await statements.execute(rows.SQL[name], each)
    return changed
