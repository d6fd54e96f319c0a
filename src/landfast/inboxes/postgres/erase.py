"""The operators' part for what must be gone: destroy what events brought, and what was written about them."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.erasure import EMPTY_BODY, EMPTY_HEADERS, ERASED, Erasure, without_texts
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import decided
from landfast.inboxes.postgres import lanes, moves, rows
from landfast.inboxes.postgres.connection import Connection, Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.ports.clock import Clock
from landfast.sealing.seal import DATA_KEY_BYTES

VACUUM_WITHIN = 3600.0
"""Seconds for one table: it goes through every page that was written to since the last one."""

WATCHED_FOR_SECONDS = 5.0
"""How long transactions are waited for that may still see what was erased. Landfast's own take milliseconds."""
LOOK_EVERY_SECONDS = 0.05

OVERWRITTEN_TIMES = 3
"""Row versions that are written over the free part of a page: the erased one, and those that it was before."""


class Erasing:
    _connections: Connections
    _clock: Clock

    async def erase(self, events: Sequence[EventId], *, who: str) -> Sequence[EventId]:
        # Dead before the COMMIT: none of them is erased. After it: they are, and the files are not clean yet.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            # Before the events themselves, as workers do: who passes the one before may be about to promote them.
            await lanes.lock(connection, [tuple(row) for row in await connection.fetch(SQL["erase_lanes"], events)])
            free = await _in_nobodys_hands(connection, events)
            found = [EventId(row["event_id"]) for row in await connection.fetch(SQL["erase_found"], free)]
            if found:
                await _erase(connection, found, rows.text(who))
        return found

    async def erasures(self) -> Sequence[Erasure]:
        async with self._connections.working() as connection:
            return [Erasure(*row) for row in await connection.fetch(SQL["erasures"])]

    async def scrub(self) -> bool:
        # Dead before it is noted: the next one goes through the tables again.
        async with self._connections.working() as connection:
            events = [row["event_id"] for row in await connection.fetch(SQL["erase_unclean"])]
            if not events:
                return True
            if await self._is_watched(connection):
                return False
            for row in await connection.fetch(SQL["erase_places"], events):
                # The indexes hold nothing that was erased.
                await connection.execute(f"VACUUM (INDEX_CLEANUP OFF) {row['name']}", timeout=VACUUM_WITHIN)
            await _overwrite(connection, events)
            await connection.execute(SQL["erase_cleaned"], events)
        return True

    async def _is_watched(self, connection: Connection) -> bool:
        since = await connection.fetchval("SELECT clock_timestamp()")
        until = self._clock.monotonic() + WATCHED_FOR_SECONDS
        while await connection.fetchval(SQL["erase_watched"], since):
            if self._clock.monotonic() >= until:
                return True
            await self._clock.sleep(LOOK_EVERY_SECONDS)
        return False


async def _overwrite(connection: Connection, events: Sequence[EventId]) -> None:
    for _ in range(OVERWRITTEN_TIMES):
        overwriting = connection.transaction()
        await overwriting.start()
        await connection.execute(SQL["erase_overwrite"], events, bytes(DATA_KEY_BYTES))
        await overwriting.rollback()


async def _in_nobodys_hands(connection: Connection, events: Sequence[EventId]) -> list[EventId]:
    """From the shelf first, as an event moves that is woken: so it is found in one of the two."""
    await connection.execute(SQL["erase_shelf_lock"], events)
    locked = await connection.fetch(SQL["erase_work_lock"], events)
    claimed = {row["event_id"] for row in locked if row["is_claimed"]}
    return [event for event in events if event not in claimed]


async def _erase(connection: Connection, events: Sequence[EventId], who: str) -> None:
    ones = [decided(event, Signal.ERASE, reason=ERASED) for event in events]
    # First, because its lane goes on, and is forgotten after that.
    await moves.settle(connection, ones, moves.groups(ones), is_lazy=False, who=who)
    await connection.execute(SQL["erase_shelf"], events)
    await connection.execute(SQL["erase_work"], events)
    await connection.execute(SQL["erase_body"], events, EMPTY_HEADERS, EMPTY_BODY)
    await connection.execute(SQL["erase_key"], events)
    lines = await connection.fetch(SQL["erase_lines"], events)
    left = [(*line[:3], rows.attempts_json(without_texts(rows.attempts_in(line["attempts"])))) for line in lines]
    await connection.executemany(SQL["erase_line"], left)
    await connection.execute(SQL["erase_note"], events, who)
    if await connection.fetch(SQL["erase_work_lock"], events):
        # It went to the shelf and came back between our two looks. Nothing of this is kept.
        raise InboxUnavailableError("an event was taken up while it was being erased; try again")
