"""The operators' part for what failed: have it tried now, or close it for good."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import Settlement, closed
from landfast.inboxes.postgres import boxes, moves
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL
from landfast.sealing import Seal


class Failing:
    _connections: Connections
    _seal: Seal

    async def hasten(self, events: Sequence[EventId], *, who: str) -> int:
        # Dead before the COMMIT: they wait as before, and the operator asks again. After it: that counts none.
        (move,) = MOVES[Signal.HASTEN]
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            await connection.execute(SQL["hasten_tries"], events, move.way.states)
            return await moves.make_ready(connection, Signal.HASTEN, events, who=who)

    async def close_dead(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        # Dead before the COMMIT: as with `hasten`.
        ones: Sequence[Settlement] = [closed(event, why) for event in dict.fromkeys(events)]
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            if self._seal.is_on:
                ones = await boxes.seal_settlements(connection, self._seal, ones)
            return sum(await moves.settle(connection, ones, moves.groups(ones), is_lazy=False, who=who))
