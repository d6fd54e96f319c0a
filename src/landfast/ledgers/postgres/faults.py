"""Whose fault an error of asyncpg is, by its SQLSTATE."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import asyncpg

from landfast.domain.errors import (
    CommitRefusedError,
    CommitUnknownError,
    ConfigError,
    LandfastError,
    LedgerUnavailableError,
    ReceiptBusyError,
    StoreError,
)
from landfast.domain.fault import Fault
from landfast.ledgers import control
from landfast.ledgers.causes import causes

if TYPE_CHECKING:
    from asyncpg import Record
    from asyncpg.pool import PoolConnectionProxy

_CONFLICT = frozenset({"40001", "40P01", "26000"})  # serialization failure, deadlock, DEALLOCATE by an event before it
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
_STANDBY = "0A000"  # what a standby answers to BEGIN READ WRITE: not supported during recovery
_REFUSED = ("28", "3D000", "42501")  # who we are, which database, what we may do there
_OPTION = ("42704", "22023")  # the address sets something that the server does not know, or not so
_OUTDATED = (asyncpg.InvalidCachedStatementError, asyncpg.OutdatedSchemaCacheError)
"""A migration changed a table under a prepared statement. asyncpg has forgotten it by now: run again at once."""
_GONE = ("connection is closed", "connection has been released")

ANY = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)
"""Everything that asyncpg raises: the server's answers, its own complaints, and what the network does (a timeout is an
OSError too)."""


def diagnose(error: BaseException) -> Fault:
    """By the error itself, or by the one that it was raised from: a refused COMMIT carries its reason there."""
    return next((fault for cause in causes(error) if (fault := _fault(cause)) is not Fault.OTHER), Fault.OTHER)


def is_conflict(error: BaseException) -> bool:
    return _fault(error) is Fault.CONFLICT


def unopened(dsn: str, error: Exception, named: str) -> ConfigError | LedgerUnavailableError:
    """What an error at the first connect means. `named` is the setting that the address is from."""
    if isinstance(error, asyncpg.ClientConfigurationError) and str(error).startswith("`sslmode`"):
        return ConfigError(f"{named}: {error}; correct it in the address")
    if isinstance(error, ValueError | asyncpg.InterfaceError):
        return ConfigError(
            f"{named} is no address of a PostgreSQL database; write it as postgresql://user:password@host:5432/database"
        )
    where = urlsplit(dsn).netloc.rpartition("@")[2] or "the local server"  # without user and password
    state = getattr(error, "sqlstate", None) or ""
    if state.startswith(_REFUSED):
        return ConfigError(
            f"{named}: {where} refuses us ({type(error).__name__}); "
            "correct the user, the password or the database's name"
        )
    if state in _OPTION:
        return ConfigError(f"{named}: the address has an option that {where} does not take ({error}); correct it")
    if "rejected SSL" in str(error):
        return ConfigError(f"{named}: {where} takes no TLS; switch it on there, or leave sslmode out of the address")
    return LedgerUnavailableError(
        f"{named}: {where} does not answer ({type(error).__name__}); start the server, or correct the address"
    )


def own(error: Exception) -> LandfastError:
    """What an error of one of Landfast's own statements means."""
    if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _LOCK_TIMEOUT:
        return ReceiptBusyError("ledger: another transaction holds this receipt for longer than a second")
    return left_behind(error) or unavailable(error)


def before_commit(error: Exception) -> LandfastError:
    """What an error of the last statement before COMMIT means: it carries the handler's results and effects."""
    if left := left_behind(error):
        return left
    if is_answer(error) and _fault(error) not in {Fault.INFRASTRUCTURE, Fault.SCHEMA}:
        return CommitRefusedError(f"ledger: the results or effects were refused ({error})")
    return unavailable(error)


def at_commit(error: Exception) -> StoreError:
    if is_answer(error):
        return CommitRefusedError(f"ledger: COMMIT was refused ({error})")
    return CommitUnknownError(f"ledger: no answer to COMMIT ({type(error).__name__}: {error})")


def left_behind(error: Exception) -> LandfastError | None:
    """What the handler left on the connection for us to trip over."""
    if isinstance(error, asyncpg.InFailedSQLTransactionError):
        return control.swallowed()
    if isinstance(error, asyncpg.InterfaceError) and _fault(error) is Fault.OTHER:
        return control.left_running()
    return None


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
    if is_answer(error) and _fault(error) is not Fault.INFRASTRUCTURE and getattr(error, "sqlstate", "") != _STANDBY:
        return LedgerUnavailableError(
            f"ledger: Landfast's own tables are not as they should be ({error}); "
            "run landfast migrate, or undo the change"
        )
    return LedgerUnavailableError(f"ledger: the database cannot be used now ({type(error).__name__}: {error})")


def _fault(error: BaseException) -> Fault:
    if isinstance(error, LedgerUnavailableError):
        return Fault.INFRASTRUCTURE
    if isinstance(error, _OUTDATED):
        return Fault.CONFLICT
    if isinstance(error, asyncpg.InternalClientError):
        return Fault.INFRASTRUCTURE  # the server's last word came where asyncpg did not expect it
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


@contextmanager
def own_statement() -> Iterator[None]:
    """Whatever is wrong with a statement of Landfast's own is not the handler's fault."""
    try:
        yield
    except ANY as error:
        if is_conflict(error):
            raise
        raise own(error) from error
