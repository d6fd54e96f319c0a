"""What every open dashboard shows, looked up once for all of them.

Navigation, overview and stream ask for the same things in windows of their own. What does not depend on the window is
looked up once for all three, and rates are read once for the widest. Whoever asks says how old it may be then: those
who wait for a lookup together take what it found, also where it took longer than that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

from landfast.domain.rates import Rate
from landfast.operations.status import Standing, standing_of
from landfast.ports.clock import Clock
from landfast.ports.inbox import Inbox

BEAT_SECONDS = 2.0
"""Between two looks, while few look. Processes add what they count to the inbox once a second."""

LISTENER_SECONDS = 0.1
"""So much more for each that is open, from the twentieth on: ten messages a second in all, and as many pages."""

BEAT_SECONDS_AT_MOST = 10.0
"""However many are open: a screen that is older is of little use."""


class Live:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.listeners = 0
        self.changes = 0
        """That were made here. What was drawn before the last one is drawn anew."""
        self._asking = asyncio.Lock()
        self._standing: tuple[float, Standing] | None = None
        self._rates: tuple[float, datetime, Sequence[Rate]] | None = None

    @property
    def beat_seconds(self) -> float:
        return min(max(BEAT_SECONDS, self.listeners * LISTENER_SECONDS), BEAT_SECONDS_AT_MOST)

    def forget(self) -> None:
        """Somebody has changed something, and wants to see it."""
        self.changes += 1
        self._standing = self._rates = None

    async def standing(self, archive: Inbox, *, seconds: float) -> Standing:
        asked_at = self._clock.monotonic()
        async with self._asking:
            kept = self._standing
            if kept is None or asked_at - kept[0] >= seconds:
                changes = self.changes
                kept = self._clock.monotonic(), await standing_of(archive)
                self._standing = kept if changes == self.changes else None  # it may be of before a change
        return kept[1]

    async def rates(self, archive: Inbox, since: datetime, *, seconds: float) -> Sequence[Rate]:
        asked_at = self._clock.monotonic()
        async with self._asking:
            kept = self._rates
            if kept is None or asked_at - kept[0] >= seconds or kept[1] > since:
                changes = self.changes
                kept = self._clock.monotonic(), since, await archive.rates(since)
                self._rates = kept if changes == self.changes else None
        return kept[2] if kept[1] == since else [rate for rate in kept[2] if rate.minute >= since]
