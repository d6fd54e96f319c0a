"""The hands of a worker: how many of them work, and when one more would help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from landfast.ports.clock import Clock

BUSY_LOOP_HANDS = 2
"""Hands on a busy loop: one runs while the other waits for its database. More would only stretch each other's
transactions and keep their groups small. Measured without this limit, with 16 hands on a busy machine of two cores: 2
to 4 times the worker's processor time for each event of a backlog on PostgreSQL, and 4 to 8 times the database's."""

BUSY_SHARE = 0.6
"""Of all time: from here on another hand could not even double what is done."""

BUSY_WINDOW_SECONDS = 0.05
"""Seconds over which it is measured how busy the loop is: some groups long, and shorter than anybody notices."""

SCHEDSTAT_FILE = Path("/proc/thread-self/schedstat")
"""Linux tells how long a thread ran, and how long it had to wait for a processor."""


def busy_seconds() -> float:
    """How long this thread has been running, or would have been if it had not had to wait for others to run: where
    databases and intake share its processors, a loop without a moment of rest gets a part of one only."""
    try:
        ran, waited, _ = SCHEDSTAT_FILE.read_bytes().split()
    except (OSError, ValueError):
        return time.thread_time()
    return (int(ran) + int(waited)) / 1e9


class HandPool:
    """Belongs to one loop; `busy_seconds` tells of its thread."""

    def __init__(self, hands: int, clock: Clock, busy_seconds: Callable[[], float] = busy_seconds) -> None:
        self._hands = self._at_work = hands
        self._clock = clock
        self._busy_seconds = busy_seconds
        self._bell = asyncio.Semaphore(0)
        self._was_called = False
        """Somebody called while all hands that would help were at work: they look again before they rest."""
        self._looked_at, self._was_busy, self._share = clock.monotonic(), busy_seconds(), 0.0

    async def rest(self) -> None:
        """Until somebody calls."""
        if self._was_called and self._at_work <= BUSY_LOOP_HANDS:
            self._was_called = False
            return
        self._at_work -= 1
        try:
            await self._bell.acquire()
        finally:
            self._at_work += 1

    def leaves(self) -> None:
        """A hand at work waits for a slow handler, and does nothing: another may take its place."""
        self._at_work -= 1

    def comes_back(self) -> None:
        self._at_work += 1

    def call(self) -> None:
        """There may be more to do than the hands at work can hold: one that rests comes, if that would help."""
        if self._at_work >= BUSY_LOOP_HANDS and self._is_busy():
            self._was_called = True
        elif self._bell.locked():
            self._bell.release()

    def dismiss(self) -> None:
        """No hand rests any more, neither now nor later."""
        for _ in range(self._hands):
            self._bell.release()

    def is_crowded(self) -> bool:
        """Whether a hand that is done with a claim should rest, although there may be more."""
        return self._is_busy() and self._at_work > BUSY_LOOP_HANDS

    def _is_busy(self) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at >= BUSY_WINDOW_SECONDS:
            busy = self._busy_seconds()
            self._share = (busy - self._was_busy) / (now - self._looked_at)
            self._looked_at, self._was_busy = now, busy
        return self._share > BUSY_SHARE
