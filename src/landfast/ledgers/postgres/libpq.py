"""Texts of several statements on a connection of psycopg's, past its cursors.

A cursor makes an object of each answer, and a text of ours has many; and it would send a BEGIN of its own first. The
lock is the one that a cursor takes: a thread or a task that a handler left behind may have the connection, too.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

_DONE = frozenset({1, 2})
"""COMMAND_OK and TUPLES_OK, of libpq's answers."""


def say(connection: Any, text: str) -> str:
    """In one round trip, on a blocking connection; the command tag of the last statement."""
    encoding = connection.info.encoding
    with connection.lock:
        return _tag(connection.pgconn.exec_(text.encode(encoding)), encoding)


async def say_and_wait(connection: Any, text: str) -> str:
    """The same on a connection that waits for the loop."""
    encoding = connection.info.encoding
    async with connection.lock:
        return _tag(await connection.wait(_answered(connection.pgconn, text.encode(encoding))), encoding)


def _answered(connection: Any, text: bytes) -> Generator[Any, Any, Any]:
    from psycopg import generators

    connection.send_query(text)
    return (yield from generators.execute(connection))[-1]


def _tag(result: Any, encoding: str) -> str:
    from psycopg import errors

    if result.status not in _DONE:
        raise errors.error_from_result(result, encoding)
    tag: bytes = result.command_status or b""
    return tag.decode(encoding)
