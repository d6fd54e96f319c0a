"""Savepoints that a handler makes by saying so. Events of a group share a transaction, and a savepoint that one of them
left there could undo its writes, although its receipt stays, when the next rolls back to the same name."""

from __future__ import annotations

import re
from functools import lru_cache

from landfast.domain.errors import UserError
from landfast.domain.sql_text import BLANK, QUERIES

_NAME = r"(\"[^\"]+\"|\w+)"
_MADE = re.compile(r"(?:\A|;)" + BLANK + r"SAVEPOINT\s+" + _NAME, re.IGNORECASE | re.DOTALL)
_BACK_TO = re.compile(
    BLANK + r"ROLLBACK\s+(?:(?:WORK|TRANSACTION)\s+)?TO\s+(?:SAVEPOINT\s+)?" + _NAME, re.IGNORECASE | re.DOTALL
)


class OwnSavepoints:
    """Of one event."""

    def __init__(self) -> None:
        self._names: set[str] = set()

    def saw(self, query: str) -> None:
        """Before it is sent. UserError where it would go back to a savepoint of somebody else's."""
        made, back_to = _said(query)
        if back_to and back_to not in self._names:
            raise UserError(
                f"this handler rolls back to the savepoint {back_to}, which it has not made for this event; one of that"
                " name may be another event's, whose writes would be undone: use tx.savepoint()"
            )
        self._names.update(made)


@lru_cache(QUERIES)
def _said(query: str) -> tuple[tuple[str, ...], str]:
    """The savepoints that it makes, and the one that it begins with rolling back to."""
    if "savepoint" not in query.lower() and "rollback" not in query.lower():
        return (), ""
    found = _BACK_TO.match(query)
    return tuple(map(_plain, _MADE.findall(query))), _plain(found[1]) if found else ""


def _plain(name: str) -> str:
    return name.strip('"').lower()
