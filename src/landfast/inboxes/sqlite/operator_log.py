"""The operators' side: the log of what they changed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import apsw

from landfast.domain.operator_log import End, Entry, Line, Step, end_at, line_after, mac_of
from landfast.inboxes import operator_log_key as keys
from landfast.inboxes.sqlite import boxes, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Chance, Clock
from landfast.sealing import Seal


class LoggingOperators:
    _file: SqliteFile
    _clock: Clock
    _chance: Chance
    _seal: Seal

    @in_thread
    def add_to_operator_log(self, entry: Entry) -> Line:
        """Crash before the COMMIT: no line, and whoever wanted to change something has not begun."""
        said = entry.storable()
        with self._file.writing(durable=True) as connection:
            end, box = _end(connection)
            key, kept = self._operator_log_key(connection, box)
            mac = mac_of(key)
            at = rows.micros(self._clock.now())
            line = line_after(mac, end, rows.moment(at), said)
            texts = (str(said.action), str(said.step), said.who, said.host, said.why, said.what)
            values = (line.seq, at, *texts, said.of, line.digest)
            ask(connection, "operator_log_add", values)
            new = end_at(mac, line)
            ask(connection, "operator_log_move", (new.seq, new.digest, new.tag, kept))
        return line

    @in_thread
    def operator_log(self, *, after: int, upto: int, limit: int) -> Sequence[Line]:
        with self._file.reading() as connection:
            found = ask(connection, "operator_log", {"after": after, "upto": upto, "limit": limit})
            return [_line(row) for row in found]

    @in_thread
    def latest_operations(
        self, *, limit: int, before: int | None = None, since: datetime | None = None
    ) -> Sequence[Line]:
        asked = {"before": before, "since": rows.micros_or_none(since), "limit": limit}
        with self._file.reading() as connection:
            return [_line(row) for row in ask(connection, "operator_log_latest", asked)]

    @in_thread
    def operator_log_end(self) -> End | None:
        with self._file.reading() as connection:
            return _end(connection)[0]

    @in_thread
    def operator_log_key(self) -> bytes | None:
        with self._file.reading() as connection:
            _, box = _end(connection)
            if keys.lacks(self._seal, box):
                self._seal.learn(boxes.store_keys(connection))
            return None if box is None else keys.opened(self._seal, box, self._chance)[0]

    def _operator_log_key(self, connection: apsw.Connection, box: bytes | None) -> tuple[bytes, bytes]:
        if keys.lacks(self._seal, box):
            self._seal.learn(boxes.store_keys(connection))
        key, kept = keys.opened(self._seal, box, self._chance)
        if kept != box and self._seal.store_key is not None:
            ask(connection, "record_store_key", self._seal.store_key)
        return key, kept


def _end(connection: apsw.Connection) -> tuple[End | None, bytes | None]:
    for seq, digest, tag, box in ask(connection, "operator_log_end"):
        return End(seq, digest, tag), box
    return None, None


def _line(row: Sequence[Any]) -> Line:
    seq, at, action, step, who, host, why, what, of, digest = row
    return Line(seq, rows.moment(at), Entry(action, Step(step), who, host, why, what, of), digest)
