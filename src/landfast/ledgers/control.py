"""What a handler may not say on its transaction, and what it hears then."""

from __future__ import annotations

import re
from functools import lru_cache

from landfast.domain import sql_text
from landfast.domain.errors import HandlerEndedTransactionError, SwallowedDatabaseError, UserError

QUERIES = sql_text.QUERIES
verb = sql_text.verb

_CONTROL = re.compile(
    sql_text.BLANK + r"(COMMIT|END|ABORT|BEGIN|START\s+TRANSACTION|PREPARE\s+TRANSACTION"
    r"|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b",
    re.IGNORECASE | re.DOTALL,
)
_FORGETTING = re.compile(sql_text.BLANK + r"DEALLOCATE\s+(?:PREPARE\s+)?ALL\b", re.IGNORECASE | re.DOTALL)
_PERCENT = re.compile(r"%(?:[sbt]\b|\()")
_NUMBERED = re.compile(r"\$[1-9]")


def refuse(query: str) -> None:
    """Refuse a statement that begins or ends a transaction. One that hides behind another statement, or goes over
    `tx.connection`, meets the guard row instead; this is only the clearer answer. And one after which no driver knows
    what its connection has."""
    if word := _control_word(query):
        raise HandlerEndedTransactionError(
            f"a handler may not send {word}: Landfast commits its writes together with the receipt; "
            "use tx.savepoint() to undo a part"
        )
    if _forgets(query):
        raise UserError(
            "a handler may not send DEALLOCATE ALL: events after it have statements prepared on the same connection;"
            " name the one that is yours"
        )


@lru_cache(QUERIES)
def _forgets(query: str) -> bool:
    return _FORGETTING.match(query) is not None


@lru_cache(QUERIES)
def _control_word(query: str) -> str:
    found = _CONTROL.match(query)
    return " ".join(found[1].upper().split()) if found else ""


@lru_cache(QUERIES)
def has_percent(query: str) -> bool:
    """Whether its placeholders are psycopg's, %s or %(name)s, and not $1."""
    return _PERCENT.search(query) is not None and _NUMBERED.search(query) is None


def percent_sign() -> UserError:
    return UserError(
        "a placeholder of tx is written $1, $2, ... and not %s; write $1, or give Landfast your psycopg pool as the"
        " ledger, where %s is understood"
    )


def ended() -> UserError:
    return UserError("this transaction has ended: a tx may be used only until its handler returns")


def ended_by_handler() -> HandlerEndedTransactionError:
    return HandlerEndedTransactionError(
        "the handler sent COMMIT or ROLLBACK on tx.connection; nothing of this attempt was kept"
    )


def left_running() -> HandlerEndedTransactionError:
    return HandlerEndedTransactionError(
        "the handler returned while a statement was still running on its tx; await everything that it starts"
    )


def swallowed() -> SwallowedDatabaseError:
    return SwallowedDatabaseError(
        "the handler caught a database error and went on, but its transaction was already lost; "
        "put `async with tx.savepoint():` around statements that may fail"
    )


def not_given(kind: str, ledger: str) -> UserError:
    return UserError(
        f"a {ledger} ledger by its address has no {kind} to give; use tx, or give Landfast your own engine,"
        " as Inbox(ledger=engine)"
    )
