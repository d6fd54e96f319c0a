"""Marks and states of lanes in an open transaction on MySQL, whoever's connection it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from landfast.domain.ids import HandlerName
from landfast.domain.lane import LaneId, LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, MarkKey, StateKey, highest, put_back
from landfast.ledgers import rows as shared
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.rows import Values
from landfast.ledgers.mysql.statements import Statements, change_all

Before = dict[MarkKey, LanePlace | None]
"""Where the marks were that a transaction has moved."""


async def mark(statements: Statements, marks: Sequence[LaneMark], before: Before) -> Sequence[LanePlace | None]:
    moved = [_mark(key) | {"place": place} for key, place in highest(marks).items()]
    if moved:
        await statements.execute(*rows.for_each("marks_move", moved))
        for row in await _fetch_each(statements, "marks_read", [_mark(key) for key in highest(marks)]):
            was = LanePlace(row["before"]) if row["before"] else None
            before.setdefault((LaneId(row["lane"]), HandlerName(row["handler"])), was)
    return [before[each.lane, each.handler] for each in marks]


async def put_marks_back(statements: Statements, reached: Sequence[LaneMark], before: Before) -> None:
    back = put_back(before, reached)
    lower = [_mark(key) | {"place": place} for key, place in back.items() if place is not None]
    await change_all(statements, "marks_put_back", lower)
    await change_all(statements, "marks_remove", [_mark(key) for key, place in back.items() if place is None])


async def lock_states(statements: Statements, keys: Sequence[StateKey]) -> Sequence[str | None]:
    if not keys:
        return []
    wanted = [key._asdict() for key in sorted(set(keys))]
    await statements.execute(*rows.for_each("states_lock", wanted))
    return shared.states(keys, await _fetch_each(statements, "states_read_now", wanted))


async def read_states(statements: Statements, keys: Sequence[StateKey]) -> Sequence[str | None]:
    return shared.states(keys, await _fetch_each(statements, "states_read", [key._asdict() for key in keys]))


async def move_states(statements: Statements, states: Sequence[LaneState]) -> None:
    await change_all(statements, "states_move", [each._asdict() for each in states])


async def _fetch_each(statements: Statements, name: str, wanted: Sequence[Values]) -> list[shared.Row]:
    return [row for each in wanted for row in await statements.fetch(rows.SQL[name], each)]


def _mark(key: MarkKey) -> dict[str, Any]:
    return {"lane": key[0], "handler": rows.name(key[1])}
