"""Settle: each signal is one move, and repeats its guard."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import apsw

from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.inboxes.sqlite import boxes, history, rows
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock
from landfast.sealing import Seal

# The statement for an event that is at work, and the one for an event that waits, where the signal is legal there.
_MOVES: dict[Signal, tuple[str, str | None]] = {
    Signal.FINISH: ("settle_finish", "settle_finish_shelved"),
    Signal.BURY: ("settle_bury", "settle_bury_shelved"),
    Signal.RELEASE: ("settle_release", None),
    Signal.POSTPONE: ("settle_delay", None),
    Signal.RETRY: ("settle_delay", None),
    Signal.SHELVE: ("settle_shelve", None),
    Signal.DISMISS: ("settle_dismiss", None),
    Signal.REFUSE: ("settle_refuse", None),
    Signal.PAUSE: ("settle_pause", None),
}
_ENDS = frozenset({Signal.FINISH, Signal.DISMISS})
_TO_SHELF = frozenset({Signal.BURY, Signal.POSTPONE, Signal.RETRY, Signal.SHELVE, Signal.REFUSE, Signal.PAUSE})


class Settling:
    _file: SqliteFile
    _clock: Clock
    _seal: Seal

    async def settle(self, settlements: Sequence[Settlement]) -> Sequence[bool]:
        return await self._file.run(partial(self._settle, settlements, rows.micros(self._clock.now())))

    def _settle(self, settlements: Sequence[Settlement], now: int) -> list[bool]:
        """Crash before the COMMIT: the leases expire, and the next claim finds the receipts and settles again."""
        with self._file.writing(durable=False) as connection:
            sealed = boxes.seal_settlements(connection, self._seal, settlements)
            return [apply(connection, settlement, now) for settlement in sealed]


def apply(connection: apsw.Connection, settlement: Settlement, now: int) -> bool:
    at_work, waiting = _MOVES[settlement.signal]
    is_end = settlement.signal in _ENDS
    # Nearly all are ends, and those tell the database nothing but which event it is.
    values = _which(settlement) if is_end else _which(settlement) | _failure(settlement, now)
    moved = ask(connection, at_work, values)
    if moved and settlement.signal in _TO_SHELF:
        ask(connection, "leave_work", (settlement.event_id,))
    if not moved and waiting is not None:
        moved = ask(connection, waiting, values)
    for (received_at,) in moved:
        history.add(
            connection,
            settlement.event_id,
            received_at,
            at=now,
            run=settlement.run,
            signal=settlement.signal,
            attempts=settlement.attempts,
            reason=settlement.reason,
            handlers=settlement.handlers if is_end else None,
        )
    return bool(moved)


def _which(settlement: Settlement) -> dict[str, Any]:
    return {"event_id": settlement.event_id, "run": settlement.run, "token": settlement.token}


def _failure(settlement: Settlement, now: int) -> dict[str, Any]:
    return {
        "due_at": now + rows.micros_in(settlement.due_in),
        "tries": rows.tries_text(settlement.tries),
        "handler": rows.text(settlement.handler),
        "reason": rows.text(settlement.reason),
        "error": rows.text(settlement.error),
        "message": rows.text(settlement.message),
    }
