"""The real clock and real chance: the only place where either is read."""

from __future__ import annotations

import os
import random
import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        import asyncio  # a host that only declares its handlers need not wait for it

        await asyncio.sleep(seconds)


class SystemChance:
    def fraction(self) -> float:
        return random.random()  # noqa: S311 - jitter, not a secret

    def bytes(self, count: int) -> bytes:
        return os.urandom(count)
