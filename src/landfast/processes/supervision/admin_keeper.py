"""Keeps the admin process, beside everything that matters more: nobody waits for it, and its end ends nothing."""

from __future__ import annotations

import asyncio
import contextlib

from landfast.processes.supervision.lives import Life, Lives

FIRST_DELAY_SECONDS = 0.5
LONGEST_DELAY_SECONDS = 30.0
"""Until the next start of one that ended. A start takes a second of a processor, and no webhook is lost meanwhile."""


class AdminKeeper:
    def __init__(self, lives: Lives) -> None:
        self._lives = lives
        self._life: Life | None = None
        self._stopped = asyncio.Event()
        self._keeping: asyncio.Task[None] | None = None

    def want(self) -> None:
        """Have one from now on."""
        if self._keeping is None and not self._stopped.is_set():
            self._keeping = asyncio.create_task(self._keep())

    def renew(self) -> None:
        """The next one reads the application afresh."""
        if self._life is not None:
            self._life.child.dismiss()

    def stop(self) -> None:
        self._stopped.set()

    async def wait(self) -> None:
        """Until the last one has ended, once it was told to stop."""
        if self._keeping is not None:
            await self._keeping

    async def _keep(self) -> None:
        delay = FIRST_DELAY_SECONDS
        while not self._stopped.is_set():
            self._life = await self._lives.begin("admin")
            if self._life is not None:
                await self._life.ended
                delay = FIRST_DELAY_SECONDS if self._life.child.is_ready else delay
                if self._life.child.is_dismissed:
                    continue
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._stopped.wait()
            delay = min(LONGEST_DELAY_SECONDS, delay * 2)
