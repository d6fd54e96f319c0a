"""The proof's part: lines that made events done, how far they are complete, and how far they were proven."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence

from landfast.domain.audit import Finished, Mark
from landfast.domain.ids import InboxId
from landfast.domain.lifecycle import State
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.audit import MARKS_KEPT

WRITERS_WITHIN = 2.0
"""Seconds that lines in open transactions have to be committed: a settlement takes milliseconds."""

LOOK_AGAIN = 0.02
"""Seconds between two looks at who is still writing."""

RECOUNTED_AT_ONCE = 5_000
"""Events looked up in one statement: about 50 ms."""


class Auditing:
    _connections: Connections

    async def newest_line(self) -> int:
        async with self._connections.working() as connection:
            newest: int = await connection.fetchval(SQL["history_last"])
        return newest

    async def complete_to(self) -> int:
        async with self._connections.working() as connection:
            return await complete_to(connection)

    async def finished(self, *, after: int, upto: int) -> Sequence[Finished]:
        async with self._connections.working() as connection:
            return [rows.finished(row) for row in await connection.fetch(SQL["finished"], after, upto, State.DONE)]

    async def audit_marks(self, _inbox: InboxId) -> Sequence[Mark]:
        async with self._connections.working() as connection:
            return [Mark(row["seq"], row["nonce"]) for row in await connection.fetch(SQL["audit_marks"], MARKS_KEPT)]

    async def set_audit_mark(self, _inbox: InboxId, mark: Mark) -> None:
        # Dead before the COMMIT: the next audit begins at the mark before.
        async with self._connections.transaction() as connection:
            await connection.fetchval(SQL["done_mark_lock"], State.DONE)
            await _set_mark(connection, mark)

    async def move_audit_mark(self, _inbox: InboxId, mark: Mark, *, seen: Mark | None) -> bool:
        # Dead before the COMMIT: the next audit begins at the mark before.
        async with self._connections.transaction() as connection:
            # Whoever sets a mark locks this row first, so nobody sets one between the look and the COMMIT.
            await connection.fetchval(SQL["done_mark_lock"], State.DONE)
            newest = [Mark(row["seq"], row["nonce"]) for row in await connection.fetch(SQL["audit_marks"], 1)]
            is_as_seen = newest == ([] if seen is None else [seen])
            if is_as_seen:
                await _set_mark(connection, mark)
        return is_as_seen

    async def recount(self) -> AsyncIterator[Mapping[State | None, int]]:
        after: bytes | None = b""
        while after is not None:
            async with self._connections.working() as connection:
                found = await connection.fetch(
                    SQL["recount"], after, RECOUNTED_AT_ONCE, State.READY, State.CLAIMED, State.DONE
                )
            after = max((row["last"] for row in found), default=None)
            if found:
                yield Counter({State(row["state"]) if row["state"] else None: row["count"] for row in found})


async def _set_mark(connection: Connection, mark: Mark) -> None:
    await connection.execute(SQL["audit_mark_set"], mark.seq, mark.nonce)
    await connection.execute(SQL["audit_mark_forget"], mark.seq, MARKS_KEPT)


async def complete_to(connection: Connection) -> int:
    """The newest line's number first, then who holds the lock under which lines are written: once those are gone, every
    line up to that number is committed, or never will be. To compare snapshots would not do: it passed a line whose
    transaction was still open when it was tried."""
    newest: int = await connection.fetchval(SQL["history_last"])
    writers = {row[0] for row in await connection.fetch(SQL["history_writers"])}
    for _ in range(int(WRITERS_WITHIN / LOOK_AGAIN)):
        if not writers:
            return newest
        await asyncio.sleep(LOOK_AGAIN)
        writers &= {row[0] for row in await connection.fetch(SQL["history_writers"])}
    return newest if not writers else 0
