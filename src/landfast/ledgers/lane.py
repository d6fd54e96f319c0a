"""A thread that has a transaction from BEGIN to COMMIT, and runs the handler too.

Django's connections belong to a thread, and so do sessions of a blocking driver as long as they are used by one at a
time. The logic of a transaction is the same as on the loop: a coroutine whose statements block never suspends, and so
the thread runs it to its end in one go.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from typing import Any, TypeVar

from landfast.thread_calls import Call, finish

T = TypeVar("T")


class Lane:
    """`run` and `start` are called on the loop, and what they are given runs in the thread, one after the other. A lane
    whose function overran its deadline is lost: nobody else gets it until that function returns."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Call | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._handler: Call | None = None

    @property
    def has_handler(self) -> bool:
        """A handler that was started here has not returned yet."""
        return self._handler is not None and not self._handler.ended.done()

    def start(self, function: Callable[[], Any], *, is_async: bool = False) -> Call:
        """The handler of one event."""
        if is_async:
            raise TypeError("this lane runs no coroutine functions")
        self._handler = call = self._put(function)
        call.ended.add_done_callback(self._forget)
        return call

    def _forget(self, _: object) -> None:
        """Or an idle lane keeps the frames of a handler that raised, and SQLite the lock of a cursor in them."""
        self._handler = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A coroutine of a blocking connection's. A caller that is cancelled leaves it to finish in the thread."""
        result, error = await asyncio.shield(self._put(lambda: finish(work())).ended)
        if error is not None:
            raise error
        value: T = result
        return value

    def stop(self) -> None:
        """End after what was asked for before."""
        self._calls.put(None)
        self._thread = None

    def _put(self, function: Callable[[], Any]) -> Call:
        if self._thread is None:
            # A daemon: a handler that never ends must not keep the process from ending.
            thread = threading.Thread(target=self._work, args=(self._calls,), name=self._name, daemon=True)
            thread.start()
            self._thread = thread  # not before: one that cannot be started performs nothing
        call = Call(function)
        self._calls.put(call)
        return call

    @staticmethod
    def _work(calls: SimpleQueue[Call | None]) -> None:
        while (call := calls.get()) is not None:
            try:
                call.perform()
            except RuntimeError:  # the loop is closed: nobody waits for it any more
                return
            del call  # or its event stays in memory until the next one comes


class Lanes:
    """As many as there are transactions at the same time; a lost one is left to its function."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._idle: list[Lane] = []
        self._is_closed = False

    def take(self) -> Lane:
        return self._idle.pop() if self._idle else Lane(self._name)

    def give_back(self, lane: Lane) -> None:
        if self._is_closed or lane.has_handler:
            lane.stop()
        else:
            self._idle.append(lane)

    def close(self) -> None:
        self._is_closed = True
        for lane in self._idle:
            lane.stop()
        self._idle.clear()


def soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """On the loop, from a thread."""
    try:
        loop.call_soon_threadsafe(call)
    except RuntimeError:
        return  # the loop has closed: nobody is left to wait
