"""What the proof asks of an inbox and a ledger besides their counts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from landfast.domain.audit import Finished, Mark
from landfast.domain.ids import InboxId
from landfast.domain.lifecycle import State

MARKS_KEPT = 100
"""Marks that each side keeps, newest first. A database that was restored is found at the newest one that both know; one
that is older than all of them is walked through from the beginning."""


class Audited(Protocol):
    """A ledger."""

    async def audit_marks(self, inbox: InboxId) -> Sequence[Mark]:
        """Newest first."""
        ...

    async def set_audit_mark(self, inbox: InboxId, mark: Mark) -> None:
        """Durably. Marks beyond it are forgotten: they are of a life that a restore has undone."""
        ...


class Auditable(Audited, Protocol):
    """An inbox."""

    async def move_audit_mark(self, inbox: InboxId, mark: Mark, *, seen: Mark | None) -> bool:
        """Set it, if the newest one is still that which was seen when the audit began; whether it was. Another audit
        may have found a loss meanwhile, and have forgotten the marks beyond it."""
        ...

    async def newest_line(self) -> int:
        """The number of the newest line of history. There may be gaps below it."""
        ...

    async def complete_to(self) -> int:
        """Up to this number no line can appear any more: none is in a transaction that is still open. Waits a moment
        for those that are; 0 where one takes too long."""
        ...

    async def finished(self, *, after: int, upto: int) -> Sequence[Finished]:
        """The lines in this range that made their events done, of events that are so still, oldest first."""
        ...

    def recount(self) -> AsyncIterator[Mapping[State | None, int]]:
        """Every identity there is, looked up one by one, in chunks: how many are in each state. None is for those that
        are nowhere. Nothing is held between two chunks."""
        ...
