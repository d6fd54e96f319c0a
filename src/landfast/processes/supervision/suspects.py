"""Keeps a process for suspects while there are any. Each runs in it alone, so the one that kills it is known."""

from __future__ import annotations

import asyncio
import contextlib

from landfast.processes.supervision.lives import Life, Lives

FIRST_DELAY_SECONDS = 0.1
LONGEST_DELAY_SECONDS = 1.0
"""Until the next start, after a suspect killed its process. A poison event is buried after three of these deaths, which
must come within seconds; and a row of poison events must not take a whole processor: a start takes a second of it."""
LONGEST_DELAY_IN_VAIN_SECONDS = 15.0
"""The same after a process that died without a suspect: no event came closer to its end, and the next may die too."""


class SuspectsKeeper:
    def __init__(self, lives: Lives, *, grace: float) -> None:
        self._lives = lives
        self._grace = grace
        self._life: Life | None = None
        self._keeping: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()
        self._must_renew = False
        """The process that is being started may have read the application before it changed."""

    def want(self) -> None:
        """There are suspects. Does nothing while their process is there, or about to be."""
        if not self._stopped.is_set() and (self._keeping is None or self._keeping.done()):
            self._keeping = asyncio.create_task(self._keep())

    def renew(self) -> None:
        """Dismiss the process, or the one that is being started. The next one reads the application afresh."""
        if self._life is None:
            self._must_renew = True
        else:
            self._life.child.dismiss()
            asyncio.get_running_loop().call_later(self._grace, self._life.child.kill)

    def stop(self) -> None:
        """Start no other. Whoever stops all processes dismisses the one that is there."""
        self._stopped.set()

    async def wait(self) -> None:
        """Until its process has ended, after `stop`."""
        if self._keeping is not None:
            await self._keeping

    async def _keep(self) -> None:
        """Until one of them ended in order: there are no suspects, or it was dismissed."""
        failures = 0
        while not self._stopped.is_set():
            life = await self._begin()
            if life is not None and (await life.ended == 0 or life.child.is_dismissed):
                return
            failures += 1
            was_alone = life is not None and life.left_behind > 0
            longest = LONGEST_DELAY_SECONDS if was_alone else LONGEST_DELAY_IN_VAIN_SECONDS
            await self._pause(min(longest, FIRST_DELAY_SECONDS * 2 ** min(failures - 1, 20)))

    async def _begin(self) -> Life | None:
        self._life, self._must_renew = None, False
        self._life = await self._lives.begin("suspects")
        if self._must_renew:
            self.renew()
        return self._life

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()
