"""A function of the user's in a thread, as the event loop sees it."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")

Ending = tuple[Any, BaseException | None]
"""What a function returned, or what it raised: StopIteration and SystemExit cannot travel through a future as
exceptions, so all of them travel as values."""


class Call:
    """One function in a thread."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._loop = asyncio.get_running_loop()
        self._run = contextvars.copy_context().run
        self._function = function
        self._thread: int | None = None
        self.ended: asyncio.Future[Ending] = self._loop.create_future()

    def frame(self) -> FrameType | None:
        """Where its thread is now."""
        return sys._current_frames().get(self._thread or 0)  # noqa: SLF001 - its documented name

    def perform(self) -> None:
        """In the thread."""
        self._thread = threading.get_ident()
        outcome = self._run(_boxed, self._function)
        self._thread = None
        self._loop.call_soon_threadsafe(self._conclude, outcome)

    def _conclude(self, outcome: Ending) -> None:
        if not self.ended.done():
            self.ended.set_result(outcome)


def finish(work: Coroutine[Any, Any, T]) -> T:
    """What comes of a coroutine that never waits for anything, such as one whose statements block."""
    try:
        work.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    work.close()
    raise RuntimeError("a coroutine of a blocking connection waited for the event loop")


def followed_by(function: Callable[[], T], after: Callable[[], object]) -> Callable[[], T]:
    """The function, and something of ours once it has returned. Here, so that no frame of it is shown as the user's."""

    def call() -> T:
        result = function()
        after()
        return result

    return call


def ending_of(function: Callable[[], Any]) -> Ending:
    """One of several functions that a thread runs in one go: what one sets in its context, the next does not find."""
    return contextvars.copy_context().run(_boxed, function)


def _boxed(function: Callable[[], Any]) -> Ending:
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and none of it is ours to act on here
        return None, error
