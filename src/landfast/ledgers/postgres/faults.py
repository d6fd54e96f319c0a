"""Whose fault an error of asyncpg is, by its SQLSTATE."""

from __future__ import annotations

from typing import TYPE_CHECKING

import asyncpg

from landfast.domain.errors import (
    CommitRefusedError,
    CommitUnknownError,
    LandfastError,
    LedgerUnavailableError,
    ReceiptBusyError,
    StoreError,
)
from landfast.domain.fault import Fault
from landfast.ledgers import control

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import PoolConnectionProxy

_CONFLICT = frozenset({"40001", "40P01"})  # serialization failure, deadlock
_INFRASTRUCTURE = ("08", "53", "57P", "58", "25006")  # away, out of something, shutting down, disk, read-only
_SCHEMA = frozenset(
    {
        "42P01",  # table
        "42703",  # column
        "42883",  # function
        "42704",  # type or other object
        "42P10",  # the constraint that ON CONFLICT names
        "3F000",  # schema
    }
)
_LOCK_TIMEOUT = "55P03"
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
"""A migration changed a table under a prepared statement. asyncpg has forgotten it by now: run again at once."""
_GONE = ("connection is closed", "connection has been released")

ANY = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""Everything that asyncpg raises: the server's answers, its own complaints, and what the network does (a timeout is an
OSError too)."""


def diagnose(error: BaseException) -> Fault:
    """By the error itself, or by the one that it was raised from: a refused COMMIT carries its reason there."""
    cause: BaseException | None = error
    while cause is not None:
        fault = _fault(cause)
        if fault is not Fault.OTHER:
            return fault
        cause = cause.__cause__
    return Fault.OTHER


def is_conflict(error: BaseException) -> bool:
    return _fault(error) is Fault.CONFLICT


def own(error: Exception) -> LandfastError:
    """What an error of one of Landfast's own statements means."""
    if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _LOCK_TIMEOUT:
        return ReceiptBusyError("ledger: another transaction holds this receipt for longer than a second")
    return _left_behind(error) or unavailable(error)


def before_commit(error: Exception) -> LandfastError:
    """What an error of the last statement before COMMIT means: it carries the handler's results and effects."""
    if left := _left_behind(error):
        return left
    if is_answer(error) and _fault(error) not in {Fault.INFRASTRUCTURE, Fault.SCHEMA}:
        return CommitRefusedError(f"ledger: the results or effects were refused ({error})")
    return unavailable(error)


def at_commit(error: Exception) -> StoreError:
    if is_answer(error):
        return CommitRefusedError(f"ledger: COMMIT was refused ({error})")
    return CommitUnknownError(f"ledger: no answer to COMMIT ({type(error).__name__}: {error})")


def is_gone(connection: PoolConnectionProxy[Record]) -> bool:
    """Closed, by whoever it was. The pool takes a lost connection back at once, and then it answers no question."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True


def is_answer(error: Exception) -> bool:
    """Whether the server said so and stayed: one that says FATAL may have committed before it went."""
    return isinstance(error, asyncpg.PostgresError) and getattr(error, "severity_en", None) == "ERROR"


def unavailable(error: Exception) -> LedgerUnavailableError:
    if is_answer(error) and _fault(error) is not Fault.INFRASTRUCTURE:
        return LedgerUnavailableError(
            f"ledger: Landfast's own tables are not as they should be ({error}); "
            "run landfast migrate, or undo the change"
        )
    return LedgerUnavailableError(f"ledger: the database cannot be used now ({type(error).__name__}: {error})")


def _left_behind(error: Exception) -> LandfastError | None:
    """What the handler left on the connection for us to trip over."""
    if isinstance(error, asyncpg.InFailedSQLTransactionError):
        return control.swallowed()
    if isinstance(error, asyncpg.InterfaceError) and _fault(error) is Fault.OTHER:
        return control.left_running()
    return None


def _fault(error: BaseException) -> Fault:
    if isinstance(error, LedgerUnavailableError):
        return Fault.INFRASTRUCTURE
    if isinstance(error, _OUTDATED):
        return Fault.CONFLICT
    if isinstance(error, asyncpg.InterfaceError):
        return Fault.INFRASTRUCTURE if any(words in str(error) for words in _GONE) else Fault.OTHER
    if not isinstance(error, asyncpg.PostgresError):
        return Fault.OTHER
    state = error.sqlstate or ""
    if state in _CONFLICT:
        return Fault.CONFLICT
    if state.startswith(_INFRASTRUCTURE):
        return Fault.INFRASTRUCTURE
    return Fault.SCHEMA if state in _SCHEMA else Fault.OTHER
