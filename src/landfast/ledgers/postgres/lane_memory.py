"""Marks and states of lanes in an open transaction on PostgreSQL, whoever's connection it is."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.ids import HandlerName
from landfast.domain.lane import LaneId, LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, MarkKey, StateKey, highest, put_back
from landfast.ledgers import rows as shared
from landfast.ledgers.postgres import rows, settings
from landfast.ledgers.postgres.wire import Wire


class PostgresLaneMemory:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._before: dict[MarkKey, LanePlace | None] = {}
        """Where the marks were that this transaction has moved."""

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        moved = rows.columns([(*key, place) for key, place in highest(marks).items()], width=3)
        await self._wire.send([settings.WAIT])
        for row in await self._wire.fetch(rows.SQL["marks_move"], *moved):
            key = LaneId(row["lane"]), HandlerName(row["handler"])
            self._before.setdefault(key, LanePlace(row["before"]) if row["before"] else None)
        await self._wire.send([settings.RELAX])
        return [self._before[mark.lane, mark.handler] for mark in marks]

    async def put_back(self, reached: Sequence[LaneMark]) -> None:
        back = put_back(self._before, reached)
        lower = [(*key, place) for key, place in back.items() if place is not None]
        gone = [key for key, place in back.items() if place is None]
        if lower:
            await self._wire.execute(rows.SQL["marks_put_back"], *rows.columns(lower, width=3))
        if gone:
            await self._wire.execute(rows.SQL["marks_remove"], *rows.columns(gone, width=2))

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        await self._wire.send([settings.WAIT])
        found = await self._wire.fetch(rows.SQL["states_lock"], *rows.columns(sorted(set(keys)), width=2))
        await self._wire.send([settings.RELAX])
        return shared.states(keys, found)

    async def move_states(self, states: Sequence[LaneState]) -> None:
        await self._wire.execute(rows.SQL["states_move"], *rows.columns(states, width=4))
