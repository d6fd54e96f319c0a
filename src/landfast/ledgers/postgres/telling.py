"""What a transaction says first and last: several statements in one text, and so in one round trip, on any driver.

Where the server may keep statements, it is told each of ours once on a connection and called by name from then on:
reading and planning one takes it longer than running it.
"""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from landfast.ledgers.postgres import rows
from landfast.ledgers.postgres.literals import Value, filled, literal

NOT_PREPARED = "26000"
"""What the server answers where somebody has said DEALLOCATE."""


class Statements:
    """Of one connection."""

    def __init__(self, *, may_keep: bool) -> None:
        self._may_keep = may_keep
        self._kept: set[str] = set()
        self._in_full: set[str] = set()
        self._new: list[str] = []
        """Of the text that is being said. If that fails, nobody knows whether it came to prepare them: then they are
        said in full from now on."""

    def call(self, name: str, *values: Value) -> str:
        if not self._may_keep or name in self._in_full:
            return filled(rows.SQL[name], values)
        call = f"EXECUTE landfast_{name}({', '.join(map(literal, values))})"
        if name in self._kept:
            return call
        self._kept.add(name)
        self._new.append(name)
        return f"PREPARE landfast_{name} AS {rows.SQL[name]}; {call}"

    def heard(self) -> None:
        """The text did what it said."""
        self._new.clear()

    def failed(self, error: Exception) -> bool:
        """Whether somebody has made the server forget them: said again, the text is understood."""
        self._in_full.update(self._new)
        self._new.clear()
        if getattr(error, "sqlstate", None) != NOT_PREPARED:
            return False
        self._in_full |= self._kept
        return True


_OF_CONNECTIONS: WeakKeyDictionary[Any, Statements] = WeakKeyDictionary()


def statements_of(connection: Any, *, may_keep: bool) -> Statements:
    """`may_keep` is false behind a pooler: there the next transaction may meet another session."""
    found = _OF_CONNECTIONS.get(connection)
    if found is None:
        found = _OF_CONNECTIONS[connection] = Statements(may_keep=may_keep)
    return found


def count(tag: str) -> int:
    """The rows that a command tag tells of."""
    return int(tag.rpartition(" ")[2])
