"""The operators' listings: find, count, walk_done."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from landfast.domain.audit import Finished
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import PLACES, Place, State
from landfast.domain.summary import Cursor, EventSummary
from landfast.inboxes.postgres import boxes, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal
from landfast.sealing.seal import TEXT, TEXT_ALONE

PATIENCE = 300.0
"""Seconds for a question that may walk through everything ever stored: a person, or a proof, waits for the answer."""


OPENED_AT_ONCE = 1_000
"""Summaries whose messages are opened to be counted: some 20 ms."""

SEALED_TEXTS = [f"{rows.like(beginning)}%" for beginning in (TEXT, TEXT_ALONE)]
"""How a sealed text begins: what it says is known once it is opened."""

WHOLE = {"find_work": "count_work", "find_shelf": "count_shelf"}
"""What counts all of one state, in place of what finds them."""

OLDEST_FIRST = {
    name: SQL[name].replace(" DESC", "").replace("event_id) < ($9", "event_id) > ($9")
    for name in ("find_any", "find_shelf", "find_work")
}
"""The same statements, walked through the other way."""


class Finding:
    _connections: Connections
    _seal: Seal

    async def find(
        self, wanted: Filter, *, limit: int, after: Cursor | None = None, oldest_first: bool = False
    ) -> Sequence[EventSummary]:
        found: list[EventSummary] = []
        while len(found) < limit:
            page = await self._page(wanted, limit, after, oldest_first=oldest_first)
            found += [one for one in page if wanted.says(one.message)]
            if len(page) < limit or wanted.message is None:
                break
            after = Cursor(page[-1].received_at, page[-1].event_id)
        return found[:limit]

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        if wanted.message is not None:
            return await self._count_opened(wanted, at_most)
        if wanted == Filter(state=wanted.state) and _statement(wanted) in WHOLE:
            return await self._count_whole(wanted, at_most)
        if _statement(wanted) == "find_any" and wanted.reason is None and not wanted.has_failed:
            counting = SQL["count_any" if wanted.state is None else "count_done"]
            asked = [*_arguments(wanted, at_most, None)[:6], at_most]
        else:
            statement = SQL[_statement(wanted)]
            counting = f"SELECT count(*) FROM (\n{statement}) AS found"  # noqa: S608 - our own file, no user's text
            asked = [*_arguments(wanted, at_most, None), *_states(wanted)]
        async with self._connections.listing() as connection:
            count: int = await connection.fetchval(counting, *asked, timeout=PATIENCE)
        return count

    async def _count_whole(self, wanted: Filter, at_most: int) -> int:
        """Without a look at any event. Of 10,000 that are ready it takes a tenth of the time."""
        name = WHOLE[_statement(wanted)]
        which: object = wanted.state is State.CLAIMED if name == "count_work" else wanted.state
        async with self._connections.listing() as connection:
            count: int = await connection.fetchval(SQL[name], which, at_most, timeout=PATIENCE)
        return count

    async def horizon(self, *, after: Cursor | None, events: int) -> datetime | None:
        place = (None, None) if after is None else (after.received_at, after.event_id)
        async with self._connections.listing() as connection:
            found: datetime | None = await connection.fetchval(SQL["horizon"], *place, events, timeout=PATIENCE)
        return found

    async def _page(
        self, wanted: Filter, limit: int, after: Cursor | None, *, oldest_first: bool = False
    ) -> list[EventSummary]:
        """What matches, but for messages that are sealed: all of those."""
        name = _statement(wanted)
        statement = OLDEST_FIRST[name] if oldest_first else SQL[name]
        async with self._connections.listing() as connection:
            arguments = _arguments(wanted, limit, after)
            found = await connection.fetch(statement, *arguments, *_states(wanted), timeout=PATIENCE)
            return await boxes.open_summaries(connection, self._seal, [rows.summary(row) for row in found])

    async def _count_opened(self, wanted: Filter, at_most: int) -> int:
        counted, after = 0, None
        while page := await self._page(wanted, OPENED_AT_ONCE, after):
            counted += sum(wanted.says(one.message) for one in page)
            if counted >= at_most:
                return at_most
            after = Cursor(page[-1].received_at, page[-1].event_id)
        return counted

    async def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[Finished]]:
        after = None
        while True:
            async with self._connections.listing() as connection:
                arguments = _arguments(wanted, chunk, after)
                found = await connection.fetch(SQL["walk_done"], *arguments, State.DONE, timeout=PATIENCE)
            if not found:
                return
            yield [rows.finished(row) for row in found]
            after = Cursor(found[-1]["received_at"], EventId(found[-1]["event_id"]))


def _statement(wanted: Filter) -> str:
    """Look where such events are: nobody walks through years of what is done to find three dead letters."""
    place = None if wanted.state is None else PLACES[wanted.state]
    if place is Place.SHELF or (place is None and wanted.has_failed):
        return "find_shelf"  # only there is an error
    return "find_work" if place is Place.WORK else "find_any"


def _states(wanted: Filter) -> tuple[object, ...]:
    statement = _statement(wanted)
    if statement == "find_work":
        return (wanted.state, wanted.state is State.CLAIMED, wanted.has_failed or wanted.reason is not None)
    if statement == "find_any":
        return (wanted.state, rows.like(wanted.reason), wanted.has_failed)
    patterns = [rows.like(each) for each in (wanted.handler, wanted.line, wanted.reason)]
    message = None if wanted.message is None else rows.like(f"*{wanted.message}*")
    return (wanted.state, *patterns, message, SEALED_TEXTS)


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
