"""What a handler may not say on its transaction, and what it hears then."""

from __future__ import annotations

import re
from functools import lru_cache

from landfast.domain.errors import HandlerEndedTransactionError, SwallowedDatabaseError, UserError

QUERIES = 500
"""Statements whose first words are remembered: an application has a few dozen, and the same ones for every event."""

_BLANK = r"(?:\s|;|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
_CONTROL = re.compile(
    _BLANK + r"(COMMIT|END|ABORT|BEGIN|START\s+TRANSACTION|PREPARE\s+TRANSACTION"
    r"|ROLLBACK(?!\s+(?:(?:WORK|TRANSACTION)\s+)?TO\b))\b",
    re.IGNORECASE | re.DOTALL,
)
_VERB = re.compile(_BLANK + r"(\w+)", re.DOTALL)


def refuse(query: str) -> None:
    """Refuse a statement that begins or ends a transaction. One that hides behind another statement, or goes over
    `tx.connection`, meets the guard row instead; this is only the clearer answer."""
    if word := _control_word(query):
        raise HandlerEndedTransactionError(
            f"a handler may not send {word}: Landfast commits its writes together with the receipt; "
            "use tx.savepoint() to undo a part"
        )


@lru_cache(QUERIES)
def verb(query: str) -> str:
    found = _VERB.match(query)
    return found[1].upper() if found else ""


@lru_cache(QUERIES)
def _control_word(query: str) -> str:
    found = _CONTROL.match(query)
    return " ".join(found[1].upper().split()) if found else ""


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
