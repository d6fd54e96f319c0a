"""Ends a worker whose event loop stands still: a handler that blocks it can be neither cancelled nor awaited.

Killing the process is safe at any point: what was not committed never happened, and its claims are given to another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable

from landfast import telemetry

MARGIN_SECONDS = 5
"""Seconds beyond the longest handler deadline: the deadline itself must have its chance to cancel the handler first."""


class Watchdog:
    def __init__(self, *, patience: float, kill: Callable[[], None] | None = None) -> None:
        self._patience = patience
        self._kill = kill or _kill_self
        self._beats = 0
        self._seen = 0
        self._silent = 0
        self._stopped = threading.Event()

    async def beat(self) -> None:
        """Runs on the event loop that is watched, for ever."""
        while True:
            self._beats += 1
            await asyncio.sleep(1)

    def watch(self) -> None:
        """Watch from a thread."""
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def stop(self) -> None:
        self._stopped.set()

    def look(self) -> None:
        """Once a second. It counts its own looks and reads no clock, so that a process that was stopped and continued
        is not blamed for the time in between."""
        if self._beats != self._seen:
            self._seen, self._silent = self._beats, 0
            return
        self._silent += 1
        if self._silent > self._patience:
            telemetry.error("loop_blocked", seconds=self._silent)
            self._kill()

    def _watch(self) -> None:
        while not self._stopped.wait(1):
            self.look()


def _kill_self() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
