"""Moving the write-ahead log into the database beside the commits, not within one of them.

SQLite by itself does it within the COMMIT that reaches the limit: at 2,300 events a second every 400th COMMIT then took
40 ms, and with it the answers of all who waited for it. Here a thread does nearly all of it on a connection of its own,
and only the little that was written meanwhile is moved between two commits (1 to 4 ms on the same disk).
"""

from __future__ import annotations

import threading
from contextlib import closing, suppress
from pathlib import Path

import apsw

PAGES = 16_000
"""64 MB of log between checkpoints: pages that change often are then written once."""

ROUNDS = 3
"""Each moves what was written during the one before it, which is a small part of that."""


class Checkpoints:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread: threading.Thread | None = None

    def after_commit(self, connection: apsw.Connection, _name: str, pages: int) -> int:
        """What SQLite calls after each COMMIT, with the length of the log. Whatever fails here only lets it grow."""
        if pages >= PAGES and self._thread is None:
            self._thread = threading.Thread(target=self._move, name="landfast checkpoint", daemon=True)
            self._thread.start()
        elif self._thread is not None and not self._thread.is_alive():
            self._thread = None
            # With this, all of the log is in the database, and the next COMMIT writes at its beginning again.
            _move_all(connection)
        return apsw.SQLITE_OK

    def _move(self) -> None:
        with suppress(apsw.Error), closing(apsw.Connection(str(self._path), flags=apsw.SQLITE_OPEN_READWRITE)) as own:
            own.pragma("schema_version")  # before it has read, it does not know that there is a log
            for _ in range(ROUNDS):
                _move_all(own)


def _move_all(connection: apsw.Connection) -> None:
    """As far as nobody reads; it waits for no one."""
    with suppress(apsw.Error):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
