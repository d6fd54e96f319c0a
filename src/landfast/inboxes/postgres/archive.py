"""The operators' part: look at events, count them, and send them through again."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from landfast.domain.census import GAUGES, Census, SourceTally
from landfast.domain.filter import Filter
from landfast.domain.ids import EventId, InboxId, ids_from
from landfast.domain.lifecycle import State
from landfast.domain.summary import Cursor, EventRecord, EventSummary, in_hand_of
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL

SILENT_AFTER = 10.0
"""Seconds without a report, of which there is one every second, until a boot counts as ended without goodbye."""

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
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

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

    async def census(self) -> Census:
        # One snapshot, or an event that moves between two counts would be counted twice or never.
        async with self._connections.transaction(isolation="repeatable_read") as connection:
            inbox = await connection.fetchval(SQL["identity"])
            events = await connection.fetchval(SQL["census_events"], timeout=PATIENCE)
            work = await connection.fetchrow(SQL["census_work"])
            shelf = await connection.fetch(SQL["census_shelf"])
            done = await connection.fetchval(SQL["census_done"], timeout=PATIENCE)
            tallies = await connection.fetch(SQL["census_tally"])
            boots = await connection.fetchrow(SQL["census_boots"], SILENT_AFTER)
            meters = await connection.fetch(SQL["census_meters"], GAUGES, SILENT_AFTER)
        assert work is not None and boots is not None  # noqa: S101, PT018 - aggregates always have their row
        states = {State.READY: work["ready"], State.CLAIMED: work["claimed"], State.DONE: done}
        return Census(
            inbox=InboxId(inbox),
            events=events,
            states=states | {State(row["state"]): row["count"] for row in shelf},
            tallies={
                row["source"]: SourceTally(row["received"], row["stored"], row["duplicate"], row["rejected"])
                for row in tallies
            },
            running_boots=boots["running"],
            unclean_boots=boots["unclean"],
            oldest_ready=work["oldest_ready"],
            meters={row["name"]: row["value"] for row in meters},
        )

    async def find(self, wanted: Filter, *, limit: int, after: Cursor | None = None) -> Sequence[EventSummary]:
        statement = _statement(wanted)
        async with self._connections.working() as connection:
            arguments = _arguments(statement, wanted, limit, after)
            found = await connection.fetch(SQL[statement], *arguments, timeout=PATIENCE)
        return [rows.summary(row) for row in found]

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
        return EventRecord(rows.summary(row), row["headers"], row["body"], history, rows.tries(row["tries"]), in_hand)

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

    async def walk_done(self, wanted: Filter, *, chunk: int) -> AsyncIterator[Sequence[EventSummary]]:
        after = None
        while True:
            async with self._connections.working() as connection:
                arguments = _arguments("walk_done", wanted, chunk, after)
                found = await connection.fetch(SQL["walk_done"], *arguments, timeout=PATIENCE)
            if not found:
                return
            yield [rows.summary(row) for row in found]
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
