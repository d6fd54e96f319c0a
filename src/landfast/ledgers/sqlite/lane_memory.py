"""Marks and states of lanes on SQLite. Whoever is in a transaction here is its only writer, and waits for nobody.

Every function here runs in a connection's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneState, MarkKey, StateKey
from landfast.ledgers.sqlite.rows import SQL


def move_marks(
    connection: sqlite3.Connection, places: dict[MarkKey, LanePlace], now: int
) -> dict[MarkKey, LanePlace | None]:
    """Where each was."""
    before: dict[MarkKey, LanePlace | None] = {}
    for key, place in places.items():
        connection.execute(SQL["marks_move"], _mark(key) | {"place": place, "now": now})
        (was,) = connection.execute(SQL["marks_read"], _mark(key)).fetchone()
        before[key] = LanePlace(was) if was else None
    return before


def put_marks_back(connection: sqlite3.Connection, places: dict[MarkKey, LanePlace | None]) -> None:
    for key, place in places.items():
        name = "marks_remove" if place is None else "marks_put_back"
        connection.execute(SQL[name], _mark(key) | ({} if place is None else {"place": place}))


def read_states(connection: sqlite3.Connection, keys: Iterable[StateKey]) -> list[str | None]:
    found = [connection.execute(SQL["states_read"], key._asdict()).fetchone() for key in keys]
    return [row[0] if row else None for row in found]


def move_states(connection: sqlite3.Connection, states: Sequence[LaneState], now: int) -> None:
    connection.executemany(SQL["states_move"], [each._asdict() | {"now": now} for each in states])


def _mark(key: MarkKey) -> dict[str, Any]:
    return {"lane": key[0], "handler": key[1]}
