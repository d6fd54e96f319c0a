"""Statements at which MySQL commits by itself. The server refuses them inside of an XA transaction; this is only the
clearer answer."""

from __future__ import annotations

import re
from functools import lru_cache

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.ledgers import control

_COMMITS = re.compile(
    r"(?:\s|;|--[^\n]*(?:\n|$)|#[^\n]*(?:\n|$)|/\*.*?\*/)*"
    r"((?:CREATE|DROP)(?!\s+(?:OR\s+REPLACE\s+)?TEMPORARY\b)|ALTER|RENAME|TRUNCATE|GRANT|REVOKE|ANALYZE|OPTIMIZE|REPAIR"
    r"|(?:UN)?LOCK\s+TABLES?|FLUSH|RESET|(?:UN)?INSTALL|XA|SET\s+(?:SESSION\s+|LOCAL\s+|@@(?:SESSION\.)?)?AUTOCOMMIT)\b",
    re.IGNORECASE | re.DOTALL,
)


def refuse(query: str) -> None:
    if word := _word(query):
        raise HandlerEndedTransactionError(
            f"a handler may not send {word}: MySQL commits at it, and that would be the receipt with half of the"
            " handler's writes; do it in a migration"
        )


@lru_cache(control.QUERIES)
def _word(query: str) -> str:
    found = _COMMITS.match(query)
    return " ".join(found[1].upper().split()) if found else ""
