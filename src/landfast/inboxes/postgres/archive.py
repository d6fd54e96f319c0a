"""The operators' part: look at an event, and send events through again. Listings are in `find`."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId, HandlerName, InboxId, ids_from
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import NextRun
from landfast.domain.summary import EventRecord, HistoryLine, in_hand_of
from landfast.inboxes.postgres import boxes, moves, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal, StoreKey


class Archiving:
    _connections: Connections
    _seal: Seal

    async def identity(self) -> InboxId:
        async with self._connections.working() as connection:
            return InboxId(await connection.fetchval(SQL["identity"]))

    async def bound_ledger(self) -> str | None:
        async with self._connections.working() as connection:
            ledger: str | None = await connection.fetchval(SQL["bound_ledger"])
        return ledger

    async def bind_ledger(self, ledger: str) -> str:
        async with self._connections.working() as connection:
            bound: str = await connection.fetchval(SQL["bind_ledger"], ledger)
        return bound

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
            record = EventRecord(
                rows.summary(row), *content, history, tries, in_hand, tuple(row.get("came_again") or ())
            )
            return await boxes.open_record(connection, self._seal, record)

    async def lately(self, *, limit: int) -> Sequence[HistoryLine]:
        async with self._connections.working() as connection:
            return [rows.line(line).without_texts() for line in await connection.fetch(SQL["lately"], limit)]

    async def expand(self, prefix: str) -> Sequence[EventId]:
        async with self._connections.working() as connection:
            return [EventId(row["event_id"]) for row in await connection.fetch(SQL["expand"], *ids_from(prefix))]

    async def replay(
        self, events: Sequence[EventId], *, forced: bool, who: str, only: HandlerName | None = None
    ) -> int:
        # Dead before the COMMIT: nothing was replayed, and asking again starts the same run.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            return await moves.make_ready(connection, Signal.REPLAY, events, who=who, how=NextRun(forced, only))

    async def recover(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: the events are done as before, and the next recovery finds them again.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            return await moves.make_ready(connection, Signal.RECOVER, events, who=who)

    async def store_keys(self) -> Sequence[StoreKey]:
        async with self._connections.working() as connection:
            return await boxes.store_keys(connection)

    async def rewrap(self, keys: Sequence[StoreKey]) -> None:
        # Dead before the COMMIT: all of them are under the old master key, and the operator asks again.
        async with self._connections.transaction() as connection:
            await connection.executemany(SQL["store_key_rewrap"], keys)
