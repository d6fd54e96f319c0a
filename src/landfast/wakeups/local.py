"""A bell in one process: intake and workers on one loop."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class LocalWakeup:
    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def nudge(self) -> None:
        self._rung.set()

    async def wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._rung.wait()
        # What rang before this moment is answered by returning: whoever waited looks for work now.
        self._rung.clear()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass
