"""Whose fault an error of PyMySQL or aiomysql is, by the server's number of it."""

from __future__ import annotations

import pymysql

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

ANY = (pymysql.err.MySQLError, OSError)
"""Everything that either driver raises: the server's answers, their own complaints, and what the network does."""

LOCK_WAIT = 1205
_DUPLICATE = frozenset({1062, 1586})
_ROLLED_BACK = frozenset(
    {
        1402,  # the transaction branch was rolled back
        1613,  # the same: it took too long
        1614,  # the same: deadlock
    }
)
"""What XA END and XA COMMIT say of a transaction that the server gave up before, at an error that somebody caught."""
_WRONG_STATE = 1399
_NOT_OURS = frozenset({1397, _WRONG_STATE})
"""The server does not know the transaction, or it is in another state."""
_CONFLICT = frozenset(
    {
        1213,  # deadlock
        LOCK_WAIT,
        1020,  # the record has changed since it was read
        1613,
        1614,
        3572,  # a lock is not there at once
    }
)
_INFRASTRUCTURE = frozenset(
    {0, 2002, 2003, 2006, 2013, 2014, 2055}  # the driver: not connected, lost
    | {1040, 1203, 1226, 1129}  # too many connections
    | {1053, 1077, 1079, 1152, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031}  # shut down, killed, aborted
    | {1290, 1792, 1836, 3100}  # read-only
    | {1021, 1030, 1037, 1041, 1114, 1135}  # out of disk, memory, threads
    | {1047}  # a node of a cluster that is not ready
)
_SCHEMA = frozenset({1146, 1054, 1049, 1051, 1109, 1305, 1370})  # table, column, database, function
_REFUSED = frozenset({1044, 1045, 1049, 1130, 1142, 1143, 1227, 1698})  # who we are, which database, what we may do
_FROM_CLIENT = 2000
"""Numbers from here to 3000 are the driver's own: the server said nothing."""


def code(error: BaseException) -> int | None:
    """None for what is no error of the drivers. 0 is theirs for a connection that is closed."""
    if not isinstance(error, pymysql.err.MySQLError):
        return None
    first = error.args[0] if error.args else 0
    return first if isinstance(first, int) else 0


def diagnose(error: BaseException) -> Fault:
    """By the error itself, or by one that it was raised from, or that SQLAlchemy has wrapped."""
    for cause in causes(error):
        for each in (cause, getattr(cause, "orig", None)):
            if isinstance(each, BaseException) and (fault := _fault(each)) is not Fault.OTHER:
                return fault
    return Fault.OTHER


def is_duplicate(error: BaseException) -> bool:
    return code(error) in _DUPLICATE


def is_conflict(error: BaseException) -> bool:
    return _fault(error) is Fault.CONFLICT


def is_gone(error: BaseException) -> bool:
    """Nobody answers on this connection any more."""
    return isinstance(error, OSError) or _is_the_drivers(code(error))


def own(error: Exception) -> LandfastError:
    """What an error of one of Landfast's own statements means."""
    if code(error) == LOCK_WAIT:
        return ReceiptBusyError("ledger: another transaction holds this receipt for longer than a second")
    return unavailable(error)


def before_commit(error: Exception) -> LandfastError:
    """What an error of the last statements before COMMIT means: they carry the handler's results and effects."""
    if _was_given_up(error):
        return control.swallowed()
    if code(error) in _NOT_OURS:
        return control.ended_by_handler()
    if _is_answer(error) and _fault(error) not in {Fault.INFRASTRUCTURE, Fault.SCHEMA}:
        return CommitRefusedError(f"ledger: the results or effects were refused ({told(error)})")
    return unavailable(error)


def at_commit(error: Exception) -> StoreError:
    if _is_answer(error):
        return CommitRefusedError(f"ledger: COMMIT was refused ({told(error)})")
    return CommitUnknownError(f"ledger: no answer to COMMIT ({type(error).__name__}: {told(error)})")


def unavailable(error: Exception) -> LedgerUnavailableError:
    if _is_answer(error) and _fault(error) not in {Fault.INFRASTRUCTURE, Fault.CONFLICT}:
        return LedgerUnavailableError(
            f"ledger: Landfast's own tables are not as they should be ({told(error)}); "
            "run landfast migrate, or undo the change"
        )
    return LedgerUnavailableError(f"ledger: the database cannot be used now ({type(error).__name__}: {told(error)})")


def unopened(where: str, error: Exception, named: str) -> ConfigError | LedgerUnavailableError:
    """What an error at the first connect means. `named` is the setting that the address is from."""
    if code(error) in _REFUSED:
        return ConfigError(
            f"{named}: {where} refuses us ({type(error).__name__}); "
            "correct the user, the password or the database's name"
        )
    return LedgerUnavailableError(
        f"{named}: {where} does not answer ({type(error).__name__}); start the server, or correct the address"
    )


def told(error: BaseException) -> str:
    """The server's sentence, without the brackets of a tuple."""
    return str(error.args[1]) if len(error.args) > 1 else str(error)


def _fault(error: BaseException) -> Fault:
    if isinstance(error, LedgerUnavailableError):
        return Fault.INFRASTRUCTURE
    number = code(error)
    if number in _CONFLICT or _was_given_up(error):
        return Fault.CONFLICT
    if number in _INFRASTRUCTURE:
        return Fault.INFRASTRUCTURE
    return Fault.SCHEMA if number in _SCHEMA else Fault.OTHER


def _was_given_up(error: BaseException) -> bool:
    """After a deadlock the server refuses everything but the end of the transaction."""
    return code(error) in _ROLLED_BACK or (code(error) == _WRONG_STATE and "ROLLBACK ONLY" in told(error))


def _is_answer(error: BaseException) -> bool:
    """Whether the server said so and stayed. One that shuts down may have committed before it went."""
    number = code(error)
    return number is not None and not _is_the_drivers(number) and number not in {1053, 1927, 1077, 1079}


def _is_the_drivers(number: int | None) -> bool:
    return number == 0 or (number is not None and _FROM_CLIENT <= number < _FROM_CLIENT + 1000)
