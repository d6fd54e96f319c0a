"""The loops of one worker: they end together. One that ends while nobody stops it takes all of them along, loudly:
half a worker would look alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from landfast import telemetry
from landfast.domain.errors import LoopEndedError


class Loops:
    def __init__(self, is_stopping: Callable[[], bool]) -> None:
        self._is_stopping = is_stopping
        self._running: dict[asyncio.Task[None], str] = {}
        self._cancelled: set[asyncio.Task[None]] = set()
        """By us. A loop that somebody else cancelled ended as silently as one that returned."""

    def start(self, name: str, loop: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(loop, name=f"landfast {name}")
        self._running[task] = name
        return task

    async def wait(self, *tasks: asyncio.Task[None]) -> None:
        """Until all of these have ended in order; whatever goes wrong in any loop meanwhile is raised."""
        while not all(task.done() for task in tasks):
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            self.check()
        self.check()

    async def cancel(self, *tasks: asyncio.Task[None]) -> None:
        """End these, or all that still run, whatever they do."""
        ending = tasks or tuple(self._running)
        self._cancelled.update(ending)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        for task in ending:
            self._running.pop(task, None)

    def check(self) -> None:
        """Raise what is wrong with a loop that has ended."""
        for task in [task for task in self._running if task.done()]:
            error = self._wrong_with(task, self._running.pop(task))
            if error is not None:
                raise error

    def _wrong_with(self, task: asyncio.Task[None], name: str) -> BaseException | None:
        if task in self._cancelled:
            return None
        if task.cancelled():
            error: BaseException | None = LoopEndedError(f"the worker's {name} was cancelled by somebody else")
        else:
            error = task.exception()
            if error is None and not self._is_stopping():
                error = LoopEndedError(f"the worker's {name} ended although nobody stopped it")
        if error is not None:
            telemetry.error("worker_loop_ended", loop=name, trace=error)
        return error
