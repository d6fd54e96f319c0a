"""The operators' part for lanes: which wait, for what, and have one go on."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.outcome import skipped
from landfast.domain.summary import InLane, WaitingLane
from landfast.inboxes.postgres import moves
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class ViewingLanes:
    _connections: Connections

    async def lanes(self, *, limit: int) -> Sequence[WaitingLane]:
        states = State.QUEUED, State.READY, State.CLAIMED
        async with self._connections.working() as connection:
            found = await connection.fetch(SQL["lanes"], [State.QUEUED, State.DEAD], *states, limit)
        return [
            WaitingLane(
                source=row["source"],
                entity=row["lane"],
                waiting=row["waiting"],
                event_id=EventId(row["event_id"]),
                state=State(row["state"]),
                since=row["since"],
                handler=row["handler"],
                reason=row["reason"],
                error=row["error"],
            )
            for row in found
        ]

    async def in_lane(self, event: EventId) -> InLane | None:
        async with self._connections.working() as connection:
            row = await connection.fetchrow(SQL["lane_place"], event)
        return None if row is None else InLane(row["place"], row["behind"])

    async def skip(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: the lanes are blocked as before, and the operator asks again.
        ones = [skipped(event) for event in dict.fromkeys(events)]
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            return sum(await moves.settle(connection, ones, moves.groups(ones), is_lazy=False, who=who))
