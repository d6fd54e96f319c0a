"""The operators' part for what is held: let it in, or decide that it is never processed."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import EventId
from landfast.inboxes.postgres import rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL


class Holding:
    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    async def admit(self, events: Sequence[EventId], *, who: str) -> int:
        return await self._move("admit", events, who)

    async def discard(self, events: Sequence[EventId], *, who: str) -> int:
        return await self._move("discard", events, who)

    async def _move(self, statement: str, events: Sequence[EventId], who: str) -> int:
        # Dead before the COMMIT: they are held as before, and the operator asks again. After it: that counts none.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["lock"], events)
            moved: int = await connection.fetchval(SQL[statement], events, rows.text(who))
        return moved
