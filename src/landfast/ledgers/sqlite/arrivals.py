"""Arrivals on SQLite. Whoever is in a transaction here is its only writer, and waits for nobody.

Every function here runs in a connection's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ARRIVED, WAITS, StagedEffect
from landfast.ledgers import meeting
from landfast.ledgers.meeting import Ended, Known
from landfast.ledgers.sqlite import rows
from landfast.ledgers.sqlite.rows import SQL


def stage(
    connection: sqlite3.Connection, effects: Sequence[StagedEffect], arrivals: Sequence[Arrived], now: int
) -> None:
    """Stage the effects; then those end that stand for what has come, of whoever staged them."""
    known: dict[str, Known] = {}
    for key, event in meeting.to_lock(effects, arrivals).items():
        connection.execute(SQL["arrivals_lock"], {"key": key, "event": event, "now": now})
        row = connection.execute(SQL["arrivals_locked"], {"key": key, "now": now}).fetchone()
        known[key] = Known(row["event"], row["age"])
    rows.stage(connection, effects, now)
    for ended in meeting.come_already(effects, known):
        _end(connection, ended, now)
    for key, event in arrivals:
        for row in connection.execute(SQL["arrivals_awaited"], {"key": key}).fetchall():
            _end(connection, Ended(row["key"], row["run"], meeting.came(event)), now)


def _end(connection: sqlite3.Connection, ended: Ended, now: int) -> None:
    states = {"done": ARRIVED, "waiting": WAITS, "now": now}
    if connection.execute(SQL["arrivals_end"], ended._asdict() | states).rowcount:
        rows.free(connection, ended.key, ended.run, now)
