"""Who is comparing a source with its provider's list, and how far that has come: one process at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.reconciliation import Reconciliation


class Reconciling(Protocol):
    async def begin_reconciliation(
        self, source: str, *, token: bytes, lease: float, since: datetime
    ) -> Reconciliation | None:
        """Begin, for `lease` seconds; None while another one is at it. One that was interrupted, and goes back as far
        or further, goes on at its place with its counts."""
        ...

    async def note_reconciliation(
        self, source: str, *, token: bytes, lease: float, place: str | None, listed: int, missing: int, taken: int
    ) -> bool:
        """How far it has come, in all; for `lease` seconds more. False where another one has it by now."""
        ...

    async def end_reconciliation(
        self, source: str, *, token: bytes, error: str = "", retry: float = 0.0, compared_until: datetime | None = None
    ) -> None:
        """It is over; or, with an error, it was interrupted and may go on after `retry` seconds. Up to where the source
        is compared is kept unless it is told."""
        ...

    async def reconciliations(self) -> Sequence[Reconciliation]:
        """The newest one of each source, by source."""
        ...
