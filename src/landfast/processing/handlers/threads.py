"""The threads that `def` handlers run in. One that overran its deadline still runs, and may take the process along."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from types import FrameType
from typing import Any

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


class _Thread(threading.Thread):
    def __init__(self) -> None:
        # A daemon: one that never ends must not keep the process of somebody else's application from ending.
        super().__init__(name="landfast-handler", daemon=True)
        self.calls: SimpleQueue[Call | None] = SimpleQueue()

    def run(self) -> None:
        while (call := self.calls.get()) is not None:
            try:
                call.perform()
            except RuntimeError:  # the loop is closed: nobody waits for it any more
                return
            del call  # or its event stays in memory until the next one comes


class Threads:
    """As many as there are calls at the same time. Callers are limited already: hands, and places for effects."""

    def __init__(self) -> None:
        self._idle: list[_Thread] = []
        self._overrunning: set[Call] = set()
        self._closed = False

    @property
    def are_overrunning(self) -> bool:
        return bool(self._overrunning)

    def start(self, function: Callable[[], Any]) -> Call:
        call = Call(function)
        thread = self._idle.pop() if self._idle else self._started()
        call.ended.add_done_callback(lambda _: self._ended(thread, call))
        thread.calls.put(call)
        return call

    def overran(self, call: Call) -> None:
        self._overrunning.add(call)

    def left_behind(self, call: Call) -> None:
        """It will not end, and its process lives on: nobody waits for it any more."""
        self._overrunning.discard(call)

    def close(self) -> None:
        self._closed = True
        for thread in self._idle:
            thread.calls.put(None)
        self._idle.clear()

    def _started(self) -> _Thread:
        thread = _Thread()
        thread.start()
        return thread

    def _ended(self, thread: _Thread, call: Call) -> None:
        self._overrunning.discard(call)
        if self._closed:
            thread.calls.put(None)
        else:
            self._idle.append(thread)


def _boxed(function: Callable[[], Any]) -> Ending:
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - a handler may raise anything, and none of it is ours to act on here
        return None, error
