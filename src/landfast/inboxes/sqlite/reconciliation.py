"""The operators' side for comparisons with a provider's list: whose turn it is, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from landfast.domain.reconciliation import Reconciliation
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class NotingReconciliations:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def begin_reconciliation(
        self, source: str, *, token: bytes, lease: float, since: datetime
    ) -> Reconciliation | None:
        """Crash after it: the lease ends, and the next one goes on at the last place that was noted."""
        asked = {"source": rows.text(source), "token": token, "since": rows.micros(since), **self._times(lease)}
        with self._file.writing(durable=True) as connection:
            return next((_made(row) for row in ask(connection, "reconciliation_begin", asked)), None)

    @in_thread
    def note_reconciliation(
        self, source: str, *, token: bytes, lease: float, place: str | None, listed: int, missing: int, taken: int
    ) -> bool:
        """Crash before it: the page is read once more, and what was taken from it is known by then."""
        counts = {"listed": listed, "missing": missing, "taken": taken}
        told = {"source": rows.text(source), "token": token, "place": None if place is None else rows.text(place)}
        noted = {**told, **counts, "held_until": self._times(lease)["held_until"]}
        with self._file.writing(durable=True) as connection:
            return bool(ask(connection, "reconciliation_note", noted))

    @in_thread
    def end_reconciliation(
        self, source: str, *, token: bytes, error: str = "", retry: float = 0.0, compared_until: datetime | None = None
    ) -> None:
        """Crash before it: the lease ends by itself."""
        until = None if compared_until is None else rows.micros(compared_until)
        told = {"source": rows.text(source), "token": token, "error": rows.text(error), "compared_until": until}
        with self._file.writing(durable=True) as connection:
            ask(connection, "reconciliation_end", {**told, **self._times(retry)})

    @in_thread
    def reconciliations(self) -> Sequence[Reconciliation]:
        with self._file.reading() as connection:
            found = ask(connection, "reconciliations", {"now": rows.micros(self._clock.now())})
            return [_made(row) for row in found]

    def _times(self, seconds: float) -> dict[str, int]:
        now = rows.micros(self._clock.now())
        return {"now": now, "held_until": now + rows.micros_in(seconds)}


def _made(row: Sequence[Any]) -> Reconciliation:
    source, begun_at, since, place, listed, missing, taken, ended_at, held_until, error, is_running, until = row
    times = (rows.moment(begun_at), rows.moment(since))
    ends = (rows.moment_or_none(ended_at), rows.moment_or_none(held_until))
    counts, compared_until = (listed, missing, taken), rows.moment_or_none(until)
    return Reconciliation(source, *times, place, *counts, *ends, error, bool(is_running), compared_until)
