"""The operators' side for what is held: hold it, let it in, or decide that it is never processed."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import MOVES, Signal
from landfast.domain.outcome import discarded, put_on_hold
from landfast.inboxes.sqlite import boxes, moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal


class Holding:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    @in_thread
    def hold(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        """Crash before the COMMIT: they wait as before, and the operator asks again. After it: asking again counts
        none."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            ones = boxes.seal_settlements(connection, self._seal, [put_on_hold(event, why) for event in events])
            return sum(moves.settle(connection, one, at, who=who) for one in ones)

    @in_thread
    def admit(self, events: Sequence[EventId], *, who: str) -> int:
        """Crash before the COMMIT: they are held as before, and the operator asks again. After it: asking again counts
        none."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            return sum(moves.make_ready(connection, Signal.ADMIT, event, at=at, who=who) for event in events)

    @in_thread
    def discard(self, events: Sequence[EventId], *, who: str) -> int:
        """Crash before the COMMIT: as with `admit`."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            return sum(_discard(connection, event, at, who) for event in events)


def _discard(connection: apsw.Connection, event: EventId, at: int, who: str) -> bool:
    (move,) = MOVES[Signal.DISCARD]
    for _, _, _, held_for in ask(connection, "named_candidates", {"event_id": event, "states": moves.STATES[move.way]}):
        # The line of history keeps what it was held for: on the shelf it is gone.
        return moves.settle(connection, discarded(event, held_for), at, who=who, noted=held_for)
    return False
