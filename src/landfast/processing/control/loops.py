"""The loops of one worker end together. A loop that ends although nobody stopped it ends all of them, loudly: half a
worker would look alive."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from landfast import telemetry
from landfast.domain.errors import LoopEndedError

CANCEL_EVERY_SECONDS = 6.0
"""A cancelled handler has 5 of them to clean up. A loop that is not over by then has swallowed its cancellation."""

CANCELS_AT_MOST = 3
"""Then the worker ends without that loop, loudly: to wait on would leave half a worker that looks alive."""


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
        """Until all of these have ended in order. What goes wrong in any loop meanwhile is raised."""
        while not all(task.done() for task in tasks):
            await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            self.check()
        self.check()

    async def cancel(self, *tasks: asyncio.Task[None]) -> None:
        """End these, or all that still run, whatever they do."""
        names = {task: self._running.pop(task, task.get_name()) for task in tasks or tuple(self._running)}
        self._cancelled.update(names)
        ending = set(names)
        for _ in range(CANCELS_AT_MOST):
            for task in ending:
                task.cancel()
            if ending:
                ended, ending = await asyncio.wait(ending, timeout=CANCEL_EVERY_SECONDS)
                _hear_out(ended)
        if ending:
            stuck = ", ".join(sorted(names[task] for task in ending))
            telemetry.error("worker_loop_does_not_end", loop=stuck)
            raise LoopEndedError(f"the worker's {stuck} was cancelled {CANCELS_AT_MOST} times and does not end")

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


def _hear_out(ended: set[asyncio.Task[None]]) -> None:
    """asyncio complains of a task that ended with an error which nobody has looked at."""
    for task in ended:
        if not task.cancelled():
            task.exception()
