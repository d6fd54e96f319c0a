"""What the text of a statement says, without asking a database."""

from __future__ import annotations

import re
from functools import lru_cache

QUERIES = 500
"""Statements whose first words are remembered: an application has a few dozen, and the same ones for every event."""

BLANK = r"(?:\s|;|--[^\n]*(?:\n|$)|/\*.*?\*/)*"
"""What may stand before the first word."""

_VERB = re.compile(BLANK + r"(\w+)", re.DOTALL)
_INSERTED_VALUES = re.compile(r"INSERT\s+INTO\s+[^\s()]+\s*(?:\([^()]*\)\s*)?\bVALUES\b(.*)", re.IGNORECASE | re.DOTALL)
_CHOOSES = re.compile(r"\b(?:SELECT|ON)\b|\w\s*\(", re.IGNORECASE)


@lru_cache(QUERIES)
def verb(query: str) -> str:
    """Its first word, in capitals."""
    found = _VERB.match(query)
    return found[1].upper() if found else ""


@lru_cache(QUERIES)
def sets_nothing(query: str) -> bool:
    """Whether it changes rows, and no setting of the session: anything else may, also by way of a function."""
    return verb(query) in {"INSERT", "UPDATE", "DELETE"} and "set_config" not in query.lower()


@lru_cache(QUERIES)
def only_inserts(query: str) -> bool:
    """An INSERT of values alone, without ON CONFLICT, a subquery or a function: two of them may change places. Neither
    sees what the other does, but for a foreign key, which says so, and a trigger or a default, which may not."""
    found = _INSERTED_VALUES.match(query.lstrip())
    return found is not None and not _CHOOSES.search(found[1])
