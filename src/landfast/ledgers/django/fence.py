"""What a handler may not do to its transaction, refused before it is sent; and what it does elsewhere, counted."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Protocol

from landfast import telemetry
from landfast.ledgers import control

_WRITES = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE"})

_SETS = frozenset({"SET", "RESET", "DISCARD", "DO", "CALL"})

_TOLD: set[str] = set()
"""Aliases of which this process has said that a handler writes to them: once is enough."""


@lru_cache(control.QUERIES)
def _may_set(query: str) -> bool:
    return control.verb(query) in _SETS or "set_config" in query.lower()


class Fenced(Protocol):
    def examine(self) -> None:
        """HandlerEndedTransactionError outside of our transaction: the database would commit each statement there."""
        ...

    def note_setting(self, query: str) -> None:
        """Before a statement that may change a setting of the session."""
        ...


class Fence:
    """A wrapper around everything that is executed on Django's connections of one thread. It is up while a handler
    runs."""

    def __init__(self, alias: str, fenced: Fenced) -> None:
        self._alias = alias
        self._fenced = fenced
        self.is_up = False
        self.is_over = False
        """The transaction was taken away while the handler still runs."""
        self.used = False
        """The handler has sent a statement on our connection."""
        self.before_others: Callable[[], None] | None = None
        """Sends what waits in `tx`, before a statement that goes past it."""
        self.elsewhere = 0
        """Writes that it sent to other databases: nobody undoes these."""

    def __call__(self, execute: Callable[..., Any], sql: Any, params: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - Django's signature
        if self.is_up:
            if context["connection"].alias == self._alias:
                self.pass_through(str(sql))
            else:
                self._count(context["connection"].alias, str(sql))
        return execute(sql, params, many, context)

    def pass_through(self, query: str) -> None:
        if self.is_over:
            raise control.ended()
        self.used = True
        control.refuse(query)
        if self.before_others is not None:
            self.before_others()
        self._fenced.examine()
        if _may_set(query):
            self._fenced.note_setting(query)

    def install(self, wrapper: Any) -> None:
        if self not in wrapper.execute_wrappers:
            wrapper.execute_wrappers.append(self)

    def remove(self, wrapper: Any) -> None:
        if self in wrapper.execute_wrappers:
            wrapper.execute_wrappers.remove(self)

    def _count(self, alias: str, query: str) -> None:
        if control.verb(query) not in _WRITES:
            return
        self.elsewhere += 1
        if alias not in _TOLD:
            _TOLD.add(alias)
            fix = f"write it to {self._alias!r}, or stage an effect for it"
            telemetry.warn("wrote_elsewhere", database=alias, ledger=self._alias, fix=fix)
