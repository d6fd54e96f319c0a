"""The operators' part: look at events, count them, and send them through again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from landfast.domain.audit import Finished
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId, InboxId, ids_from
from landfast.domain.lifecycle import State
from landfast.domain.summary import Cursor, EventRecord, EventSummary, in_hand_of
from landfast.inboxes.postgres import boxes, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal, StoreKey

PATIENCE = 300.0
"""Seconds for a question that may walk through everything ever stored: a person, or a proof, waits for the answer."""

_PLACES = {
    State.READY: "find_work",
    State.CLAIMED: "find_work",
    State.DELAYED: "find_shelf",
    State.UNHANDLED: "find_shelf",
    State.HELD: "find_shelf",
    State.PAUSED: "find_shelf",
    State.DEAD: "find_shelf",
    State.DONE: "find_done",
}
_TAKES_STATE = frozenset({"find_work", "find_shelf"})


class Archiving:
    def __init__(self, connections: Connections, seal: Seal) -> None:
        self._connections = connections
        self._seal = seal

    async def identity(self) -> InboxId:
        async with self._connections.working() as connection:
            return InboxId(await connection.fetchval(SQL["identity"]))

    async def bound_ledger(self) -> str | None:
        async with self._connections.working() as connection:
            ledger: str | None = await connection.fetchval(SQL["ledger"])
        return ledger

    async def bind_ledger(self, ledger: str) -> str:
        async with self._connections.working() as connection:
            bound: str = await connection.fetchval(SQL["bind_ledger"], ledger)
        return bound

    async def find(self, wanted: Filter, *, limit: int, after: Cursor | None = None) -> Sequence[EventSummary]:
        statement = _statement(wanted)
        async with self._connections.working() as connection:
            arguments = _arguments(statement, wanted, limit, after)
            found = await connection.fetch(SQL[statement], *arguments, timeout=PATIENCE)
            return await boxes.open_summaries(connection, self._seal, [rows.summary(row) for row in found])

    async def count(self, wanted: Filter, *, at_most: int) -> int:
        statement = _statement(wanted)
        counting = f"SELECT count(*) FROM (\n{SQL[statement]}) AS found"  # noqa: S608 - our own file, no user's text
        async with self._connections.working() as connection:
            arguments = _arguments(statement, wanted, at_most, None)
            count: int = await connection.fetchval(counting, *arguments, timeout=PATIENCE)
        return count

    async def show(self, event: EventId) -> EventRecord | None:
        async with self._connections.transaction(isolation="repeatable_read") as connection:
            row = await connection.fetchrow(SQL["show"], event)
            row = row or await connection.fetchrow(SQL["find_bodiless"], event)
            lines = [] if row is None else await connection.fetch(SQL["history"], row["received_at"], event)
            if row is None:
                return None
            history = tuple(rows.line(line) for line in lines)
            in_hand = in_hand_of(row.get("token"), row.get("claimed_at"))
            content, tries = (row["headers"], row["body"]), rows.tries(row["tries"])
            record = EventRecord(rows.summary(row), *content, history, tries, in_hand)
            return await boxes.open_record(connection, self._seal, record)

    async def expand(self, prefix: str) -> Sequence[EventId]:
        async with self._connections.working() as connection:
            return [EventId(row["event_id"]) for row in await connection.fetch(SQL["expand"], *ids_from(prefix))]

    async def replay(self, events: Sequence[EventId], *, forced: bool, who: str) -> int:
        # Dead before the COMMIT: nothing was replayed, and asking again starts the same run.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            replayed: int = await connection.fetchval(SQL["replay"], events, forced, rows.text(who))
        return replayed

    async def recover(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: the events are done as before, and the next recovery finds them again.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            recovered: int = await connection.fetchval(SQL["recover"], events, rows.text(who))
        return recovered

    async def store_keys(self) -> Sequence[StoreKey]:
        async with self._connections.working() as connection:
            return await boxes.store_keys(connection)

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        # Dead before the COMMIT: all of them are under the old master key, and the operator asks again.
        async with self._connections.transaction() as connection:
            await connection.executemany(SQL["store_key_rewrap"], keys)

    async def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[Finished]]:
        after = None
        while True:
            async with self._connections.working() as connection:
                arguments = _arguments("walk_done", wanted, chunk, after)
                found = await connection.fetch(SQL["walk_done"], *arguments, timeout=PATIENCE)
            if not found:
                return
            yield [rows.finished(row) for row in found]
            after = Cursor(found[-1]["received_at"], EventId(found[-1]["event_id"]))


def _statement(wanted: Filter) -> str:
    """Look where such events are: nobody walks through years of what is done to find three dead letters."""
    if wanted.state is not None:
        return _PLACES[wanted.state]
    return "find_any" if wanted.error is None else "find_shelf"


def _arguments(statement: str, wanted: Filter, limit: int, after: Cursor | None) -> list[object]:
    arguments: list[object] = [
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
    return [*arguments, wanted.state] if statement in _TAKES_STATE else arguments
