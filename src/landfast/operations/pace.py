"""How hard work in the background works: for a small share of the time at first, and for more the longer it takes."""

from __future__ import annotations

from landfast.ports.clock import Clock

HARDER_EVERY_SECONDS = 600.0
AT_MOST_SHARE = 0.2
"""Work that goes on for so long gets twice its share of the time, up to this one: what is far behind has to catch up
with what comes."""

LONGEST_REST_SECONDS = 60.0
"""Whatever took long before it: the audit of a year, or the one step that drops a large table."""


class Pace:
    def __init__(self, clock: Clock, share: float) -> None:
        """It begins with this share of the time. All of it is for somebody who waits for the end."""
        self._clock = clock
        self._share = share
        self._began_at = self._rested_at = clock.monotonic()

    async def rest(self) -> None:
        """Between two steps, for as long as the last one was too long."""
        now = self._clock.monotonic()
        harder = 2.0 ** ((now - self._began_at) // HARDER_EVERY_SECONDS)
        share = max(self._share, min(self._share * harder, AT_MOST_SHARE))
        if share < 1:
            await self._clock.sleep(min((now - self._rested_at) * (1 / share - 1), LONGEST_REST_SECONDS))
        self._rested_at = self._clock.monotonic()
