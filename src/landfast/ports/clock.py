"""Time and chance, injected everywhere so that a simulation of the real code is possible."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The wall clock, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go back, for durations."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Chance(Protocol):
    def fraction(self) -> float:
        """A number in [0, 1)."""
        ...

    def bytes(self, count: int) -> bytes:
        """Unpredictable bytes, for ids and tokens."""
        ...
