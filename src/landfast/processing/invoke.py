"""Call one function of the user's: `async def` on the loop, `def` in a thread, each under its deadline."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
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


async def invoke(
    function: Callable[[], Any],
    *,
    is_async: bool,
    deadline: float,
    threads: Threads,
    hung: Callable[[], None],
) -> Any:
    """What the function returned; HandlerRaisedError with what it raised, or with DeadlineError."""
    try:
        if is_async:
            return await _on_loop(function, deadline, hung)
        return await _in_thread(function, deadline, threads, hung)
    except HandlerRaisedError:
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_being_stopped():
            raise
        raise HandlerRaisedError(error) from error


async def _on_loop(function: Callable[[], Any], deadline: float, hung: Callable[[], None]) -> Any:
    # A function that swallows its cancellation runs on; the alarm outlives it.
    alarm = asyncio.get_running_loop().call_later(deadline + GRACE, hung)
    try:
        async with asyncio.timeout(deadline) as limit:
            result = await function()
    except TimeoutError:
        if not limit.expired():
            raise
        raise DeadlineError(f"it ran longer than its deadline of {deadline:g} s") from None
    finally:
        alarm.cancel()
    if limit.expired():
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
