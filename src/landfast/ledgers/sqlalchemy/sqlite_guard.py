"""What stands in for the guard row on a SQLite connection of the user's: an authorizer that refuses a foreign BEGIN and
COMMIT. The guard row is a foreign key, and those are off there by default, for the user's own tables, too."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.ledgers import limits
from landfast.ledgers.sqlalchemy.fences import Fence
from landfast.ledgers.sqlite.handle import STEPS

INFO = "landfast_guard"
"""Where SQLAlchemy keeps it, for as long as the connection lives."""
FULL = 2
_BEGINS: Any = ""
"""The driver's own default: a write outside of a transaction begins one."""


@dataclass(frozen=True, slots=True)
class Before:
    """Settings of the connection as the user has them."""

    isolation_level: Any
    synchronous: int
    busy_timeout: int


@dataclass(slots=True)
class SqliteGuard:
    """Of one connection, from the first transaction of ours on. Between those it allows everything."""

    fence: Fence | None = None
    may_begin: bool = False
    before: Before | None = None

    def authorize(self, action: int, what: str | None, *_: Any) -> int:
        if action != sqlite3.SQLITE_TRANSACTION or self.fence is None:
            return sqlite3.SQLITE_OK
        # A ROLLBACK is allowed, and noticed: denied, it would hide the error that made SQLAlchemy roll back.
        # A driver with autocommit=False, which Python has since 3.12, says BEGIN right after our COMMIT.
        is_ours = self.fence.may_commit or (what == "BEGIN" and self.may_begin)
        denied = what in {"BEGIN", "COMMIT"} and not is_ours
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def begin(connection: sqlite3.Connection, guard: SqliteGuard, fence: Fence) -> None:
    """In the connection's thread."""
    before = guard.before = Before(
        connection.isolation_level, _pragma(connection, "synchronous"), _pragma(connection, "busy_timeout")
    )
    # Asked again and again: an interrupt that comes a moment before a statement begins would be lost.
    connection.set_progress_handler(lambda: fence.is_lost, STEPS)
    if connection.in_transaction:
        # A `begin` hook of the user's own said BEGIN. The guard row will take the lock that BEGIN IMMEDIATE would have.
        if before.synchronous < FULL:
            raise ConfigError(
                "ledger: PRAGMA synchronous is not FULL on the engine's connections, so a power cut could undo a"
                " receipt; set it to FULL where you set it"
            )
        guard.fence = fence
        return
    connection.isolation_level = _BEGINS  # so that a write after a hidden ROLLBACK asks for a BEGIN, which is refused
    if before.synchronous < FULL:
        connection.execute(f"PRAGMA synchronous = {FULL}").close()
    connection.execute(f"PRAGMA busy_timeout = {round(limits.RECEIPT_WAIT * 1000)}").close()
    guard.fence, guard.may_begin = fence, True
    try:
        connection.execute("BEGIN IMMEDIATE").close()
    finally:
        guard.may_begin = False
    connection.execute(f"PRAGMA busy_timeout = {before.busy_timeout}").close()


def end(connection: sqlite3.Connection, guard: SqliteGuard) -> None:
    """In the connection's thread, outside of a transaction."""
    before, guard.fence, guard.before = guard.before, None, None
    connection.set_progress_handler(None, 0)
    if before is None or connection.in_transaction:
        return
    connection.isolation_level = before.isolation_level
    connection.execute(f"PRAGMA busy_timeout = {before.busy_timeout}").close()
    if before.synchronous < FULL:
        connection.execute(f"PRAGMA synchronous = {before.synchronous}").close()


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    cursor = connection.execute(f"PRAGMA {name}")
    try:
        return int(cursor.fetchone()[0])
    finally:
        cursor.close()
