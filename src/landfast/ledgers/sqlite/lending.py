"""A connection that is lent to handlers, and taken back from those that do not let go of it."""

from __future__ import annotations

import contextlib
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path

from landfast.ledgers import limits
from landfast.ledgers.sqlite import rows

_SETTINGS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # a COMMIT that a power cut can undo would let a handler run twice
    "PRAGMA foreign_keys = ON",  # the guard row is a foreign key
    "PRAGMA secure_delete = ON",  # what an effect or a result no longer says becomes zeros: it may be erased later
)


class LendableConnection:
    """One connection of sqlite3, and how many references it has while nobody else holds it. A cursor, a bound method
    or a frame that still runs each hold one more."""

    def __init__(self, path: Path) -> None:
        self.connection = _connect(path)
        self._references = sys.getrefcount(self.connection)

    def is_held_elsewhere(self) -> bool:
        return sys.getrefcount(self.connection) > self._references

    def end_for_good(self, end: Callable[[sqlite3.Connection], object]) -> None:
        """End the transaction, so that whoever holds the connection can write nothing any more.

        It is not closed, because to close a connection under a running statement crashes the process. SQLite looks at
        `query_only` whenever a statement begins to write, also one that was prepared before; COMMIT and ROLLBACK still
        work. A COMMIT of the holder's own meets the guard row."""
        with contextlib.suppress(sqlite3.Error):  # broken, or the handler's authorizer refuses it: the end goes on
            self.connection.execute("PRAGMA query_only = ON").close()
        try:
            end(self.connection)
        finally:
            with contextlib.suppress(sqlite3.Error):
                rows.roll_back(self.connection)

    def close_unless_held(self) -> bool:
        if self.is_held_elsewhere():
            return False
        self.connection.close()
        return True


class _Connection(sqlite3.Connection):
    """One that a handler still holds when the ledger closes is closed when the handler lets go of it."""

    def __del__(self) -> None:
        with contextlib.suppress(sqlite3.Error):  # one that could not even be opened
            self.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        factory=_Connection,
        timeout=limits.RECEIPT_WAIT,
        isolation_level=None,  # we say BEGIN and COMMIT ourselves
        check_same_thread=False,  # a `def` handler may use tx.connection from its own thread
    )
    try:
        connection.row_factory = sqlite3.Row
        for setting in _SETTINGS:
            connection.execute(setting).close()
    except sqlite3.Error:
        connection.close()
        raise
    return connection
