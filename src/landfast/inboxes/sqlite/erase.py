"""The operators' side for what must be gone: destroy what an event brought, and what was written about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw

from landfast.domain.erasure import EMPTY_BODY, EMPTY_HEADERS, ERASED, Erasure, without_texts
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import decided
from landfast.inboxes.sqlite import moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock


class Erasing:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def erase(self, events: Sequence[EventId], *, who: str) -> Sequence[EventId]:
        """Crash before the COMMIT: none of them is erased. After it: they are, and what is left in the log and its file
        is not clean yet."""
        at = rows.micros(self._clock.now())
        with self._file.writing(durable=True) as connection:
            found = [row for event in dict.fromkeys(events) for row in ask(connection, "erase_found", (event,))]
            for event_id, received_at, seq in found:
                named = {"event_id": event_id, "received_at": received_at, "seq": seq, "at": at, "who": rows.text(who)}
                _erase_one(connection, named)
        return [EventId(row[0]) for row in found]

    @in_thread
    def erasures(self) -> Sequence[Erasure]:
        with self._file.reading() as connection:
            return [
                Erasure(EventId(event), rows.moment(at), who, bool(is_clean), *named)
                for event, at, who, is_clean, *named in ask(connection, "erasures")
            ]

    @in_thread
    def scrub(self) -> bool:
        """Crash before it is noted: the next one looks again."""
        with self._file.reading() as connection:
            ((unclean,),) = ask(connection, "erase_unclean")
        if not unclean:
            return True
        # The log still has the pages as they were. Somebody who reads an old view keeps it there.
        busy, _, _ = self._file.connection(durable=True).pragma("wal_checkpoint", "TRUNCATE")
        if busy:
            return False
        with self._file.writing(durable=True) as connection:
            ask(connection, "erase_cleaned")
        return True


def _erase_one(connection: apsw.Connection, named: dict[str, Any]) -> None:
    event = named["event_id"]
    # First, because its lane goes on, and is forgotten after that.
    moves.settle(connection, decided(event, Signal.ERASE, reason=ERASED), named["at"], who=named["who"])
    ask(connection, "erase_shelf", named)
    ask(connection, "erase_work", named)
    ask(connection, "erase_body", {**named, "headers": EMPTY_HEADERS, "body": EMPTY_BODY})
    ask(connection, "erase_key", named)
    for seq, attempts in ask(connection, "erase_lines", named):
        left = rows.attempts_text(without_texts(rows.attempts_in(attempts)))
        ask(connection, "erase_line", {"seq": seq, "attempts": left})
    ask(connection, "erase_note", named)
