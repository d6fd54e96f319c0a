"""Newcomers: connections that have proved nothing yet. Strangers among them share what one of them may take.

A stranger costs what it takes to accept it, to look at what it sent, to refuse that and to close. It is back at once.
So sixteen of them keep the loop busy all the time. Then good requests wait for the loop, and the thread that stores
them waits for the interpreter. So whoever was looked at, and goes without having proved anything, is charged: for twice
as long as that took no newcomer is looked at. Those who have proved themselves are not held up, and so is nobody whose
first request is an ordinary one and genuine: to see that takes less than to let it wait. A newcomer that turns out
to be good costs nobody anything.

Everybody is accepted at once all the same. Whoever floods us with connections does not wait for that, and good senders
would wait in the kernel behind thousands that are dead already: it was tried, and cost them a second.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from time import monotonic

from landfast.intake.large import LONGEST_REST_SECONDS, OTHERS_SHARE, SECONDS_BETWEEN_TURNS

STRANGER_SECONDS = 0.0003
"""For one that proved nothing: a tenth of a millisecond to accept and to close it, as much to refuse what it asked, and
as much to read what else it sent."""


class Newcomers:
    def __init__(self, time: Callable[[], float] = monotonic) -> None:
        self._time = time
        self._waiting: deque[Callable[[], None]] = deque()
        self._rests_since = self._rests_until = 0.0
        self._is_over = False

    @property
    def rest(self) -> float:
        """Seconds for which none of them has a turn."""
        return max(0.0, self._rests_until - self._time())

    @property
    def have_to_wait(self) -> bool:
        return bool(self._waiting) or self._time() < self._rests_until

    def charge(self) -> None:
        """One of them was a stranger."""
        if self._is_over:
            return
        now = self._time()
        if now >= self._rests_until:
            self._rests_since = self._rests_until = now
        owed = self._rests_until + OTHERS_SHARE * STRANGER_SECONDS
        # At most: thousands who go one after the other must not keep everybody out for seconds.
        self._rests_until = min(owed, self._rests_since + LONGEST_REST_SECONDS)

    def rest_no_more(self) -> None:
        """We are about to stop: whoever has connected gets an answer."""
        self._is_over = True
        self._rests_until = 0.0
        self.serve()

    def wait(self, turn: Callable[[], None]) -> None:
        """Have it called in its turn."""
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            self._come_back()

    def serve(self) -> None:
        """One after the other, until one of them is a stranger. The first in any case: by the time that we are called,
        others may have been charged for the next rest."""
        began, is_first = self._time(), True
        try:
            while self._waiting and (is_first or not self.rest) and self._time() - began < SECONDS_BETWEEN_TURNS:
                is_first = False
                turn = self._waiting[0]  # it stays until it had its turn, so that nobody has the line served twice
                try:
                    turn()
                finally:
                    self._waiting.popleft()
        finally:
            if self._waiting:
                self._come_back()

    def _come_back(self) -> None:
        asyncio.get_running_loop().call_later(self.rest, self.serve)
