"""The threads that `def` handlers run in. One that overran its deadline still runs, and may take the process along."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from landfast.thread_calls import Call


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
        call.ended.add_done_callback(lambda _: self._ended(thread))
        thread.calls.put(call)
        return call

    def overran(self, call: Call) -> None:
        """It still runs, here or in a lane of the ledger's."""
        self._overrunning.add(call)
        call.ended.add_done_callback(lambda _: self._overrunning.discard(call))

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

    def _ended(self, thread: _Thread) -> None:
        if self._closed:
            thread.calls.put(None)
        else:
            self._idle.append(thread)
