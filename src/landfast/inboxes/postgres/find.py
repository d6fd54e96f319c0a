"""The operators' listings: find, count, walk_done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from landfast.domain.audit import Finished
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import PLACES, Place, State
from landfast.domain.summary import Cursor, EventSummary
from landfast.inboxes.postgres import boxes, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal

PATIENCE = 300.0
"""Seconds for a question that may walk through everything ever stored: a person, or a proof, waits for the answer."""


class Finding:
    _connections: Connections
    _seal: Seal

    async def find(self, wanted: Filter, *, limit: int, after: Cursor | None = None) -> Sequence[EventSummary]:
        async with self._connections.working() as connection:
            arguments = _arguments(wanted, limit, after)
            found = await connection.fetch(SQL[_statement(wanted)], *arguments, *_states(wanted), timeout=PATIENCE)
            return await boxes.open_summaries(connection, self._seal, [rows.summary(row) for row in found])

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        statement = SQL[_statement(wanted)]
        counting = f"SELECT count(*) FROM (\n{statement}) AS found"  # noqa: S608 - our own file, no user's text
        async with self._connections.working() as connection:
            arguments = _arguments(wanted, at_most, None)
            count: int = await connection.fetchval(counting, *arguments, *_states(wanted), timeout=PATIENCE)
        return count

    async def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[Finished]]:
        after = None
        while True:
            async with self._connections.working() as connection:
                arguments = _arguments(wanted, chunk, after)
                found = await connection.fetch(SQL["walk_done"], *arguments, State.DONE, timeout=PATIENCE)
            if not found:
                return
            yield [rows.finished(row) for row in found]
            after = Cursor(found[-1]["received_at"], EventId(found[-1]["event_id"]))


def _statement(wanted: Filter) -> str:
    """Look where such events are: nobody walks through years of what is done to find three dead letters."""
    place = None if wanted.state is None else PLACES[wanted.state]
    if place is Place.SHELF or (place is None and wanted.error is not None):
        return "find_shelf"  # only there is an error
    return "find_work" if place is Place.WORK else "find_any"


def _states(wanted: Filter) -> tuple[object, ...]:
    is_at_work = wanted.state is not None and PLACES[wanted.state] is Place.WORK
    return (wanted.state, wanted.state is State.CLAIMED) if is_at_work else (wanted.state,)


def _arguments(wanted: Filter, limit: int, after: Cursor | None) -> list[object]:
    return [
        wanted.source,
        rows.like(wanted.type),
        wanted.entity,
        wanted.key,
        wanted.since,
        wanted.before,
        rows.like(wanted.error),
        limit,
        after.received_at if after else None,
        after.event_id if after else None,
    ]
