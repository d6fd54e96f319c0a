"""What all connections of one intake process share: limits, budgets, and the sweep that ends what takes too long."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from landfast.intake.large import LONGEST_REST_SECONDS, OTHERS_SHARE, SECONDS_BETWEEN_TURNS
from landfast.intake.receive import Intake
from landfast.web.http.newcomers import Newcomers


@dataclass(frozen=True, slots=True)
class Limits:
    request_seconds: float = 10.0
    """For a whole request, head and body, from its first byte; the first one of a connection, from its beginning. A
    sender writes a request in one go, and most wait no longer than this for the answer. The same for a client to read
    its answers."""
    body_rate: int = 64 * 1024
    """Bytes of body that buy one second more, up to `request_seconds` from now: faster buys no silence. Slower than
    this for long is an attack, or a sender that has given up."""
    handshake_seconds: float = 10.0
    """For TLS. Not less than for a request: who needs that long for its handshake still gets its answer in time."""
    idle_seconds: float = 75.0
    """Keep-alive: longer than the 60 s after which common proxies let go, so that they close first and no request of
    theirs meets our closing."""
    linger_seconds: float = 2.0
    linger_bytes: int = 64 * 1024
    """After a refusal we read on for this long and this much: closing with unread bytes sends a reset, which destroys
    the answer on its way."""
    connections: int = 10_000
    """At a few KiB each, far more than webhook senders open. Beyond it, whoever does least makes room."""


SWEPT_CONNECTIONS = 25
"""Connections ended in one go, which takes 1 ms: when thousands end together, good requests get their turn between."""

PLACES_AT_A_TIME = 64
"""Places looked for at a time. To look takes a few ms with 10,000 connections, too much for each that comes."""


TURNS_AT_A_TIME = 2
"""Of those who wait in line, whoever they are: strangers who pipeline, bodies in tiny chunks, large bodies."""


class Line:
    """Whoever has more to read than one turn allows waits here for the next one."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time = time
        self._waiting: deque[tuple[Callable[[], None], float]] = deque()
        self._is_coming = False
        """Whether `serve` will be called: once, however many join, also those who join again in their own turn."""

    def join(self, turn: Callable[[], None], reading: float = 0.0) -> None:
        """`reading` are the seconds that it takes to read what the turn lets in."""
        self._waiting.append((turn, reading))
        if not self._is_coming:
            self._come_back(SECONDS_BETWEEN_TURNS)

    def serve(self) -> None:
        began, spent, to_read = self._time(), 0.0, 0.0
        try:
            for _ in range(min(TURNS_AT_A_TIME, len(self._waiting))):
                turn, reading = self._waiting.popleft()
                turn()
                to_read += reading
                spent = self._time() - began
                if spent > SECONDS_BETWEEN_TURNS:
                    break
        finally:  # a turn that raises ends no other's wait for ever
            self._is_coming = bool(self._waiting)
            if self._is_coming:
                # What is read is read while the line waits.
                self._come_back(max(SECONDS_BETWEEN_TURNS, OTHERS_SHARE * spent + (OTHERS_SHARE + 1) * to_read))

    def _come_back(self, wait: float) -> None:
        self._is_coming = True
        asyncio.get_running_loop().call_later(min(wait, LONGEST_REST_SECONDS), self.serve)


class Sweepable(Protocol):
    deadline: float

    def end_late(self) -> None: ...

    def end_for_room(self) -> None: ...

    def end_if_idle(self) -> None: ...

    def end_now(self) -> None: ...


class Connections:
    """Those that are open, and what they share."""

    def __init__(self, intake: Intake, *, limits: Limits, time: Callable[[], float], is_secure: bool = False) -> None:
        self.intake = intake
        self.limits = limits
        self.time = time
        self.is_secure = is_secure
        """Whether what arrives here came through TLS of our own."""
        self.open: set[Sweepable] = set()
        self.line = Line(time)
        self.newcomers = Newcomers()
        self.unproven = intake.unproven
        self.is_draining = False
        """Each answer is the last of its connection."""
        self._expendable: list[tuple[float, Sweepable]] = []
        self._expelled: set[Sweepable] = set()

    @property
    def is_full(self) -> bool:
        return len(self.open) - len(self._expelled) >= self.limits.connections

    def make_room(self) -> bool:
        """Expel whoever is nearest to its deadline: one that lingers, or else is slow, or else has been idle the
        longest. So a crowd of slow connections makes room for good ones, and not the other way round. Never one whose
        event is being stored, which has no deadline; False if there are only such."""
        if not self._expendable:
            waiting = [(c.deadline, c) for c in self.open - self._expelled if c.deadline < math.inf]
            self._expendable = heapq.nsmallest(PLACES_AT_A_TIME, waiting, key=_deadline)[::-1]
        while self._expendable:
            deadline, connection = self._expendable.pop()
            # Any other may have been busy since it was put on the list.
            if connection.deadline == deadline and connection in self.open:
                self._expelled.add(connection)
                connection.end_for_room()
                return True
        return False

    def sweep(self, now: float) -> bool:
        """End what was past its deadline then; True if there is more of it. One sweep for all, because a timer that is
        armed and cancelled for every request would cost more than reading the request does."""
        late = [c for c in self.open if c.deadline <= now]
        for connection in late[:SWEPT_CONNECTIONS]:
            connection.end_late()
        return len(late) > SWEPT_CONNECTIONS

    def let_idle_go(self) -> None:
        """Close what is idle; the rest closes after its answer."""
        for connection in list(self.open):
            connection.end_if_idle()

    def end_now(self) -> None:
        """Nobody gets more time."""
        for connection in list(self.open):
            connection.end_now()

    def forget(self, connection: Sweepable) -> None:
        self.open.discard(connection)
        self._expelled.discard(connection)


def _deadline(entry: tuple[float, Sweepable]) -> float:
    return entry[0]
