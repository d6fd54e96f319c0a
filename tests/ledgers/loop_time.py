"""The loop's time, which a test moves: what had so many seconds has had them, and nobody waited."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.patience import PATIENCE_SECONDS

LOOK_SECONDS = 0.1
WAITS_AT_MOST = 200
"""A few are enough; but a busy machine may need several looks for one."""


class LoopTime:
    """Of the loop that runs now. So a limit may be far longer than any pause of the machine, and still run out."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        time, self._moved = self._loop.time, 0.0
        self._loop.time = lambda: time() + self._moved  # type: ignore[method-assign]

    def move(self, seconds: float) -> None:
        """From anywhere: timers that are due by then ring at the loop's next turn."""
        self._moved += seconds
        self._loop.call_soon_threadsafe(lambda: None)  # it may be asleep until what was the next timer

    async def run_out(self, task: asyncio.Task[Any], seconds: float) -> None:
        """Until the task is done, one after the other of its waits has had so many seconds."""
        for _ in range(WAITS_AT_MOST):
            done, _ = await asyncio.wait({task}, timeout=LOOK_SECONDS)
            if done:
                return
            self.move(seconds)
        raise AssertionError("it waits without an end")

    def move_in_thread(self, seconds: float) -> None:
        """In a thread of a handler's, as if that took so long: they have rung when this returns."""
        self.move(seconds)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self._loop).result(PATIENCE_SECONDS)
