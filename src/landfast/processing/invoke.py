"""Call one function of the user's: `async def` on the loop, `def` in a thread, each under its deadline."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

from landfast.domain.errors import DeadlineError
from landfast.processing.threads import Threads

GRACE = 5.0
"""Seconds that a cancelled function gets to clean up before its process is given up as hung."""


class HandlerRaisedError(Exception):
    """Whatever the user's function raised, carried as an ordinary exception: SystemExit, KeyboardInterrupt or a
    CancelledError of its own making must not take the worker along."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(repr(error))
        self.error = error


@dataclass(slots=True, eq=False)
class Run:
    """A function that runs on the loop."""

    task: asyncio.Task[Any]
    cancelling: int
    """How many had asked this task to stop before us."""
    rings_at: float
    is_late: bool = False

    def is_stopped(self) -> bool:
        """Whether somebody else, too, asked it to stop."""
        return self.task.cancelling() > self.cancelling + self.is_late


class Watch:
    """One timer for all functions on a loop: it cancels who is past its deadline, and reports who runs on after that. A
    timer for each would cost as much as decoding its event."""

    def __init__(self, hung: Callable[[], None]) -> None:
        self.hung = hung
        self._running: set[Run] = set()
        self._rings_at = inf
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, deadline: float) -> Run:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("only a task can be cancelled")
        rings_at = asyncio.get_running_loop().time() + deadline
        run = Run(task, task.cancelling(), rings_at)
        self._running.add(run)
        if rings_at < self._rings_at:
            self._set(rings_at)
        return run

    def end(self, run: Run) -> None:
        """Its alarm is off, and our cancellation with it."""
        self._running.discard(run)
        if run.is_late:
            run.task.uncancel()

    def _set(self, rings_at: float) -> None:
        if self._timer is not None:  # one that is left behind would set another whenever it rings, and never end
            self._timer.cancel()
        self._rings_at = rings_at
        self._timer = asyncio.get_running_loop().call_at(rings_at, self._ring)

    def _ring(self) -> None:
        now = asyncio.get_running_loop().time()
        for run in [run for run in self._running if run.rings_at <= now]:
            if run.is_late:
                self.hung()
                run.rings_at = inf
            else:
                # A function that swallows its cancellation runs on; the alarm outlives it.
                run.is_late, run.rings_at = True, now + GRACE
                run.task.cancel()
        self._rings_at = min((run.rings_at for run in self._running), default=inf)
        if self._rings_at < inf:
            self._set(self._rings_at)


async def invoke(
    function: Callable[[], Any],
    *,
    is_async: bool,
    deadline: float,
    threads: Threads,
    watch: Watch,
) -> Any:
    """What the function returned; HandlerRaisedError with what it raised, or with DeadlineError."""
    try:
        if is_async:
            return await _on_loop(function, deadline, watch)
        return await _in_thread(function, deadline, threads, watch.hung)
    except HandlerRaisedError:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_stopped():
            raise
        raise HandlerRaisedError(error) from error


async def _on_loop(function: Callable[[], Any], deadline: float, watch: Watch) -> Any:
    run = watch.begin(deadline)
    try:
        result = await function()
    except (asyncio.CancelledError, TimeoutError):
        if not run.is_late or run.is_stopped():
            raise
        raise DeadlineError(f"it ran longer than its deadline of {deadline:g} s") from None
    finally:
        watch.end(run)
    if run.is_late:
        raise DeadlineError(f"it ran longer than its deadline of {deadline:g} s and ignored its cancellation")
    return result


async def _in_thread(function: Callable[[], Any], deadline: float, threads: Threads, hung: Callable[[], None]) -> Any:
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    running = loop.run_in_executor(threads.pool, context.run, _boxed, function)
    finished, _ = await asyncio.wait({running}, timeout=deadline)
    if not finished:
        # A thread cannot be cancelled. Its transaction is taken away now; if it never ends, its process must.
        threads.overran(running)
        loop.call_later(GRACE, lambda: None if running.done() else hung())
        raise DeadlineError(f"it ran longer than its deadline of {deadline:g} s")
    result, error = running.result()
    if error is not None:
        raise HandlerRaisedError(error) from error
    return result


def _boxed(function: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    # StopIteration and SystemExit cannot travel through a future as exceptions, so they travel as values.
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and none of it is ours to act on here
        return None, error


def _is_being_stopped() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
