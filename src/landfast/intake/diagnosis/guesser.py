"""The guesser: a thread in which refusals are explained, so that no request waits for it.

An explanation takes ten milliseconds at worst, and is worth nothing to the sender. So it has one thread and a short
line. A refusal that finds the line full is logged without its cause. And the thread rests between two guesses, because
it shares the interpreter with the loop and with the thread that stores events: each waits half a millisecond for it
whenever it needs it, and that is some ten times for an event.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait

from landfast.intake.large import OTHERS_SHARE

UNFINISHED_AT_MOST = 5
"""Refusals that are being explained or wait for it: as many as are begun in a second. Each holds a body that nobody has
proved, of 1 MiB unless its source allows more."""

GUESSING_SECONDS = 0.0002
"""Of guesses in a row, about ten, before a rest: less than the others would wait for the interpreter in any case."""

LONGEST_PAUSE_SECONDS = 0.02
"""The first refusal has every family of providers read, and rests after each: it is explained within a second all the
same, also on a machine that stands still now and then."""


class Guesser:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="landfast-guesser")  # started by the first refusal
        self._unfinished: set[Future[None]] = set()
        self._rested_at = 0.0

    @property
    def has_room(self) -> bool:
        return len(self._unfinished) < UNFINISHED_AT_MOST

    def begin(self, explain: Callable[[], None]) -> None:
        """Have this run in the thread, after those that wait already."""
        future = self._thread.submit(self._explain, explain)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)

    def rest(self) -> None:
        """In the thread, between two guesses."""
        spent = time.monotonic() - self._rested_at
        if spent > GUESSING_SECONDS:
            time.sleep(min(OTHERS_SHARE * spent, LONGEST_PAUSE_SECONDS))
            self._rested_at = time.monotonic()

    def _explain(self, explain: Callable[[], None]) -> None:
        self._rested_at = time.monotonic()
        explain()

    def finish(self) -> None:
        """Wait until all that was begun is done."""
        wait(tuple(self._unfinished))
