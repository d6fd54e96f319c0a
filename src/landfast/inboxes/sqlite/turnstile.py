"""The workers' side for what they call: at which rate they do so together."""

from __future__ import annotations

from landfast.domain.turnstile import Passage, Turnstile, let_through
from landfast.inboxes.sqlite import rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class LettingThrough:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def let_through(self, name: str, *, wanted: int, behind: int, rate: float, spacing: float) -> Passage:
        """Crash before the COMMIT: nobody was let through. After it: so many places are used up, and nobody used
        them."""
        asked = {"name": rows.text(name)}
        with self._file.writing(durable=False) as connection:
            found = next((Turnstile(*row) for row in ask(connection, "turnstile", asked)), Turnstile())
            now = self._clock.now().timestamp()
            stile, passage = let_through(found, now=now, wanted=wanted, behind=behind, rate=rate, spacing=spacing)
            ask(connection, "turnstile_set", {**asked, "free_at": stile.free_at, "queue_end": stile.queue_end})
        return passage
