"""Whether a worker was told to stop, and waits that end then."""

from __future__ import annotations

import asyncio

from landfast.ports.clock import Clock


class Stopping(asyncio.Event):
    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    async def pause(self, seconds: float, sooner: asyncio.Event | None = None) -> None:
        """Wait, but no longer than until the stop, or until the event is set."""
        waits = [asyncio.ensure_future(self.wait()), asyncio.ensure_future(self._clock.sleep(seconds))]
        if sooner is not None:
            waits.append(asyncio.ensure_future(sooner.wait()))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
