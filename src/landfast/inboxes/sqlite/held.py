"""The operators' side for what is held: let it in, or decide that it is never processed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import apsw

from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal
from landfast.inboxes.sqlite import history, rows
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class Holding:
    _file: SqliteFile
    _clock: Clock

    async def admit(self, events: Sequence[EventId], *, who: str) -> int:
        return await self._file.run(partial(self._move, events, Signal.ADMIT, who))

    async def discard(self, events: Sequence[EventId], *, who: str) -> int:
        return await self._file.run(partial(self._move, events, Signal.DISCARD, who))

    def _move(self, events: Sequence[EventId], signal: Signal, who: str) -> int:
        """Crash before the COMMIT: they are held as before, and the operator asks again. After it: asking again counts
        none."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            return sum(_move_one(connection, event, signal, at=at, who=who) for event in events)


def _move_one(connection: apsw.Connection, event: EventId, signal: Signal, *, at: int, who: str) -> bool:
    for body_seq, received_at, run, reason in ask(connection, "held", {"event_id": event}):
        ask(connection, signal, (body_seq, event))
        if signal is Signal.ADMIT:
            ask(connection, "unshelve", (body_seq, event))
        # The line of history keeps what it was held for: on the shelf it is gone.
        history.add(connection, event, received_at, at=at, run=run, signal=signal, reason=reason, who=who)
        return True
    return False
