"""Whose fault an error of sqlite3 is."""

from __future__ import annotations

import sqlite3

from landfast.domain.errors import LedgerUnavailableError, ReceiptBusyError, StoreError
from landfast.domain.fault import Fault
from landfast.ledgers.causes import causes

_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
_INFRASTRUCTURE = frozenset(
    {
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_PROTOCOL,
    }
)
_SCHEMA = ("no such table", "no such column", "no such function", "has no column named", "no such view")


def diagnose(error: BaseException) -> Fault:
    """By the error itself, or by the one that it was raised from: a refused COMMIT carries its reason there."""
    ours = (cause for cause in causes(error) if isinstance(cause, sqlite3.Error | LedgerUnavailableError))
    cause = next(ours, None)
    if isinstance(cause, LedgerUnavailableError):
        return Fault.INFRASTRUCTURE
    if not isinstance(cause, sqlite3.Error):
        return Fault.OTHER
    if code(cause) in _BUSY:
        # Our transaction has had the file since BEGIN IMMEDIATE: whoever waits for it is on another connection.
        return Fault.OWN_CONNECTION
    if code(cause) in _INFRASTRUCTURE:
        return Fault.INFRASTRUCTURE
    if any(words in str(cause) for words in _SCHEMA):
        return Fault.SCHEMA
    return Fault.OTHER


def own(error: sqlite3.Error) -> StoreError:
    """What an error of one of Landfast's own statements means: never the handler's fault."""
    if code(error) in _BUSY:
        # One writer at a time: whoever holds the file may hold the very receipt that we are after.
        return ReceiptBusyError(f"ledger: another connection is writing ({error})")
    return unavailable(error)


def unavailable(error: sqlite3.Error) -> LedgerUnavailableError:
    if code(error) in _BUSY:
        return LedgerUnavailableError(
            f"ledger: somebody is writing to it, perhaps a handler that takes long ({error}); try again when it is done"
        )
    if diagnose(error) is Fault.INFRASTRUCTURE:
        return LedgerUnavailableError(f"ledger: the database cannot be used now ({error})")
    return LedgerUnavailableError(
        f"ledger: Landfast's own tables are not as they should be ({error}); run landfast migrate, or undo the change"
    )


def code(error: sqlite3.Error) -> int:
    """The primary result code; errors of the module itself, such as a closed connection, have none."""
    extended: int = getattr(error, "sqlite_errorcode", 0)
    return extended & 0xFF
