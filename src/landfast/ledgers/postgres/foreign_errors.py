"""Errors of psycopg, psycopg2, SQLAlchemy and Django, told as asyncpg tells them: one table of SQLSTATEs judges all.

No driver is imported for the question: whose an error is, its class's module says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg

from landfast.domain.fault import Fault
from landfast.ledgers.causes import causes
from landfast.ledgers.postgres import faults

_DRIVERS = frozenset({"psycopg", "psycopg2", "psycopg_pool"})
_WRAPPERS = frozenset({"sqlalchemy", "django"})
"""Around an error of the driver's, which is their cause or their `orig`."""
_NO_CONNECTION = frozenset({"TimeoutError", "DisconnectionError"})
"""What SQLAlchemy's pool raises without one."""
_OF_THE_STATEMENT = frozenset(
    {"ProgrammingError", "DataError", "IntegrityError", "NotSupportedError", "InternalError", "Warning"}
)
"""Without a SQLSTATE, the driver's own complaints: of a value that it cannot send, say."""


class GoneError(asyncpg.InterfaceError):
    """The server or the network is away, or the pool has no connection."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"connection is closed ({type(error).__name__}: {str(error).strip()})")


def diagnose(error: BaseException) -> Fault:
    """By the error itself, or by one that it was raised from, or that it wraps."""
    for each in _chain(error):
        fault = faults.diagnose(_told(each) or each)
        if fault is not Fault.OTHER:
            return fault
    return Fault.OTHER


@contextmanager
def translating() -> Iterator[None]:
    """Around statements of Landfast's own."""
    try:
        yield
    except faults.ANY:
        raise
    except Exception as error:
        known = translated(error)
        if known is None:
            raise
        raise known from error


def translated(error: BaseException) -> Exception | None:
    """The same as an error of asyncpg's; None where no driver raised it, or the driver complains of the statement."""
    if not _package(error) & (_DRIVERS | _WRAPPERS):
        return error if isinstance(error, faults.ANY) else None
    return next((told for each in _chain(error) if (told := _told(each)) is not None), None)


def is_gone(error: BaseException) -> bool:
    """Whether the connection is lost, or there was none to be had."""
    told = translated(error)
    return told is not None and faults.diagnose(told) is Fault.INFRASTRUCTURE


def _chain(error: BaseException) -> Iterator[BaseException]:
    for cause in causes(error):
        for each in (cause, getattr(cause, "orig", None)):
            if isinstance(each, BaseException):
                yield each


def _told(error: BaseException) -> Exception | None:
    if isinstance(error, faults.ANY):
        return error
    package, names = _package(error), {base.__name__ for base in type(error).__mro__}
    if package & _DRIVERS:
        state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
        if state:
            return _answer(state, error)
        is_silent = "InterfaceError" in names and "connection" not in str(error)
        return None if names & _OF_THE_STATEMENT or is_silent else GoneError(error)
    return GoneError(error) if "sqlalchemy" in package and names & _NO_CONNECTION else None


def _answer(state: str, error: BaseException) -> Exception:
    diagnostics: Any = getattr(error, "diag", None)
    # Without a severity it is not known to be the server's answer: a driver gives states to what it finds itself.
    severity = getattr(diagnostics, "severity_nonlocalized", None) or "UNKNOWN"
    message = getattr(diagnostics, "message_primary", None) or str(error).strip() or type(error).__name__
    told: Exception = asyncpg.PostgresError.new({"S": severity, "V": severity, "C": state, "M": message})
    return told


def _package(error: BaseException) -> set[str]:
    return {base.__module__.partition(".")[0] for base in type(error).__mro__}
