"""The operators' side for what failed: have it tried now, or close it for good."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import closed
from landfast.inboxes.sqlite import boxes, moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal


class Failing:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    @in_thread
    def hasten(self, events: Sequence[EventId], *, who: str) -> int:
        """Crash before the COMMIT: they wait as before, and the operator asks again. After it: asking again counts
        none."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            return sum(_hasten(connection, event, at, who) for event in events)

    @in_thread
    def close_dead(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        """Crash before the COMMIT: as with `hasten`."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            ones = boxes.seal_settlements(connection, self._seal, [closed(event, why) for event in events])
            return sum(moves.settle(connection, one, at, who=who) for one in ones)


def _hasten(connection: apsw.Connection, event: EventId, at: int, who: str) -> bool:
    (move,) = MOVES[Signal.HASTEN]
    ask(connection, "hasten_tries", {"event_id": event, "states": moves.STATES[move.way]})
    return moves.make_ready(connection, Signal.HASTEN, event, at=at, who=who)
