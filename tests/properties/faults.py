"""Databases that go away: at one call of a port, before or after it did what it was asked for."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

from landfast.domain.errors import CommitUnknownError, InboxUnavailableError, LedgerUnavailableError, StoreError

NEVER_FAIL = frozenset({"rollback", "scope", "identity"})


@dataclass
class Fault:
    nth: int
    when: str
    calls: int = 0


class Faulty:
    """Every call of a port is a place to fail at: marks, states and stirs, too."""

    def __init__(self, port: Any, fault: Fault, error: StoreError) -> None:
        self._port, self._fault, self._error = port, fault, error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._port, name)
        if name in NEVER_FAIL or not inspect.iscoroutinefunction(found):
            return found

        async def call(*args: Any, **options: Any) -> Any:
            self._fault.calls += 1
            is_here = self._fault.calls == self._fault.nth
            if is_here and self._fault.when == "before":
                raise self._error
            answer = await found(*args, **options)
            if is_here and self._fault.when == "after":
                if name == "begin":
                    await answer.rollback()
                raise CommitUnknownError("no answer to COMMIT") if name == "commit" else self._error
            return Faulty(answer, self._fault, self._error) if name == "begin" else answer

        return call


def faulty(inbox: Any, ledger: Any, fault: Fault) -> tuple[Any, Any]:
    """The two of a worker, of which one fails."""
    return (
        Faulty(inbox, fault, InboxUnavailableError("the inbox is away")),
        Faulty(ledger, fault, LedgerUnavailableError("the ledger is away")),
    )
