"""The guesser: a thread in which refusals are explained, so that no request waits for it.

An explanation takes ten milliseconds at worst, and is worth nothing to the sender. So it has one thread and a short
line. A refusal that finds the line full is logged without its cause.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

UNFINISHED_AT_MOST = 5
"""Refusals that are being explained or wait for it: as many as are begun in a second. Each holds a body that nobody has
proved, of 1 MiB unless its source allows more."""


class Guesser:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="landfast-guesser")  # started by the first refusal
        self._unfinished: set[Future[None]] = set()

    @property
    def has_room(self) -> bool:
        return len(self._unfinished) < UNFINISHED_AT_MOST

    def begin(self, explain: Callable[[], None]) -> None:
        """Have this run in the thread, after those that wait already."""
        future = self._thread.submit(explain)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)

    def finish(self) -> None:
        """Wait until all that was begun is done."""
        wait(tuple(self._unfinished))
