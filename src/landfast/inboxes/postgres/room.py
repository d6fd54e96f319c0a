"""The room that the inbox's tables take. A dropped partition gives its own back by itself.

To empty a body takes room: its row is written anew, and the log before it. A server's disk is not ours to keep a file
on, so the ballast is a table.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from landfast.domain.errors import StoreError, UserError
from landfast.domain.room import Compacted, Room
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL

ROWS_PER_PAGE, PAGE_BYTES = 22, 8192
"""Rows of the ballast that fit into the tenth of a page that is used."""

WORTH_LAYING_SHARE = 0.9
"""Of it: what there is less than this is laid anew."""


class Roomy:
    _connections: Connections

    async def room(self) -> Room:
        async with self._connections.working() as connection:
            return Room(used=await connection.fetchval(SQL["room"]))

    async def compact(self, *, report: Callable[[int, int], None]) -> Compacted:  # noqa: ARG002 - as the port has it
        raise UserError(
            "compact: this is for a SQLite inbox; on PostgreSQL old partitions are dropped, which gives their room back"
        )

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nobody has to wait: to drop a partition needs next to no room, and the ballast is enough for what is moved
        before. Crash after it was dropped: the next pass lays it."""
        async with self._connections.working() as connection:
            size = await connection.fetchval(SQL["ballast_size"])
            await connection.execute(SQL["ballast_drop"])
        try:
            yield
        finally:
            with suppress(StoreError):  # there is no room for it yet; the next pass tries again
                await self.lay_ballast(size)

    async def lay_ballast(self, size: int) -> None:
        async with self._connections.transaction() as connection:
            laid = await connection.fetchval(SQL["ballast_size"])
            used = await connection.fetchval(SQL["room"])
            # An inbox that is smaller than its ballast needs none yet.
            if size and (laid >= WORTH_LAYING_SHARE * size or used < size):
                return
            if laid:
                await connection.execute(SQL["ballast_drop"])
            if size:
                await connection.execute(SQL["ballast_make"])
                await connection.execute(SQL["ballast_fill"], size // PAGE_BYTES * ROWS_PER_PAGE)
