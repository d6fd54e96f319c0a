"""The operators' part for what is held: let it in, or decide that it is never processed."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import discarded
from landfast.inboxes.postgres import moves
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class Holding:
    _connections: Connections

    async def admit(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: they are held as before, and the operator asks again. After it: that counts none.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            return await moves.make_ready(connection, Signal.ADMIT, events, who=who)

    async def discard(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: as with `admit`.
        (move,) = MOVES[Signal.DISCARD]
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            held = await connection.fetch(SQL["named_candidates"], events, move.way.states)
            ones = [discarded(EventId(row["event_id"]), row["reason"]) for row in held]
            # The line of history keeps what it was held for: on the shelf it is gone.
            noted = [row["reason"] for row in held]
            return sum(await moves.settle(connection, ones, moves.groups(ones), is_lazy=False, who=who, noted=noted))
