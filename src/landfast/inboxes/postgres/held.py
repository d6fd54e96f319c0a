"""The operators' part for what is held: hold it, let it in, or decide that it is never processed."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import Settlement, discarded, put_on_hold
from landfast.inboxes.postgres import boxes, lanes, moves
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal


class Holding:
    _connections: Connections
    _seal: Seal

    async def hold(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        # Dead before the COMMIT: they wait as before, and the operator asks again. After it: that counts none.
        ones: Sequence[Settlement] = [put_on_hold(event, why) for event in dict.fromkeys(events)]
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            # Before the events themselves, as workers do: who passes the one before may be about to promote them.
            await lanes.lock(connection, [tuple(row) for row in await connection.fetch(SQL["erase_lanes"], events)])
            if self._seal.is_on:
                ones = await boxes.seal_settlements(connection, self._seal, ones)
            return sum(await moves.settle(connection, ones, moves.groups(ones), is_lazy=False, who=who))

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
