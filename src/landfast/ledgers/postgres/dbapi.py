"""Landfast's statements over a blocking connection of psycopg or psycopg2, as Django and SQLAlchemy have underneath.

The coroutines here never suspend: a lane runs them to their end in one go.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from landfast.ledgers.postgres.wire import Row

_PLACEHOLDER = re.compile(r"\$(\d+)")


@cache  # our own statements, a few dozen
def percent(query: str) -> str:
    """With `%(p1)s` in the place of `$1`."""
    return _PLACEHOLDER.sub(r"%(p\1)s", query.replace("%", "%%"))


def named(values: Sequence[Any]) -> dict[str, Any]:
    return {f"p{number}": value for number, value in enumerate(values, 1)}


class DbapiStatements:
    """The part of a Wire that sends statements. Cursors are the driver's plain ones: the user's connection may make
    others by default."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def send(self, statements: Sequence[str]) -> None:
        with self._cursor() as cursor:
            cursor.execute("; ".join(statements))

    async def fetch(self, query: str, *values: Any) -> Sequence[Row]:
        with self._cursor() as cursor:
            cursor.execute(percent(query), named(values))
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, map(_plain, row), strict=True)) for row in cursor.fetchall()]

    async def execute(self, query: str, *values: Any) -> int:
        with self._cursor() as cursor:
            cursor.execute(percent(query), named(values))
            return int(cursor.rowcount)

    def _cursor(self) -> Any:
        if type(self._connection).__module__.startswith("psycopg2"):
            from psycopg2.extensions import cursor

            return self._connection.cursor(cursor_factory=cursor)
        from psycopg import Cursor
        from psycopg.rows import tuple_row

        return Cursor(self._connection, row_factory=tuple_row)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
