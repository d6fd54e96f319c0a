"""The operators' side for lanes: which wait, for what, and have one go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.outcome import skipped
from landfast.domain.summary import InLane, WaitingLane
from landfast.inboxes.sqlite import moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class ViewingLanes:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def lanes(self, *, limit: int) -> Sequence[WaitingLane]:
        states = {"queued": State.QUEUED, "ready": State.READY, "claimed": State.CLAIMED}
        asked = {**states, "states": json.dumps([State.QUEUED, State.DEAD]), "limit": limit}
        with self._file.reading() as connection:
            return [_lane(row) for row in ask(connection, "lanes", asked)]

    @in_thread
    def in_lane(self, event: EventId) -> InLane | None:
        with self._file.reading() as connection:
            found = ask(connection, "lane_place", {"event_id": event})
        return InLane(*found[0]) if found else None

    @in_thread
    def skip(self, events: Sequence[EventId], *, who: str) -> int:
        """Crash before the COMMIT: the lanes are blocked as before, and the operator asks again."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            return sum(moves.settle(connection, skipped(event), at, who=who) for event in events)


def _lane(row: Sequence[Any]) -> WaitingLane:
    """Of a row of `lanes.sql`: whichever comes first of what waits and what is at work."""
    source, entity, waiting, place, event, state, since, handler, reason, error, *at_work = row
    if at_work[0] is not None and at_work[0] < place:
        (_, event, state, since), handler, reason, error = at_work, "", "", ""
    moment = rows.moment_or_none(since)
    return WaitingLane(source, entity, waiting, event, State(state), moment, handler, reason, error)
