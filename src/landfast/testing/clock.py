"""Time and chance that a test holds in its hand."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta

from landfast.testing.factory import DAWN


class ManualClock:
    """Stands still until it is told to go on. `sleep` goes on at once, by what was asked for."""

    def __init__(self, start: datetime = DAWN) -> None:
        self._now = start.astimezone(UTC)
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)
        await asyncio.sleep(0)  # a loop that only sleeps must still let others run

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
        self._monotonic += seconds


class SeededChance:
    """The same draws on every run."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 - a test wants the same draws, not secret ones

    def fraction(self) -> float:
        return self._random.random()

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)
