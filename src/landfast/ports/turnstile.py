"""What all workers share of the rate at which they call a dependency."""

from __future__ import annotations

from typing import Protocol

from landfast.domain.turnstile import Passage


class Turnstiles(Protocol):
    async def let_through(self, name: str, *, wanted: int, behind: int, rate: float, spacing: float) -> Passage:
        """As `domain.turnstile` says, by one clock for all who ask, and for one of them at a time."""
        ...
