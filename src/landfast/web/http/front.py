"""What all connections of one intake process share: limits, budgets, and the sweep that ends what takes too long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from landfast.intake.receive import Intake


@dataclass(frozen=True, slots=True)
class Limits:
    head_seconds: float = 10.0
    """From a request's first byte to the end of its headers, which a sender writes in one go."""
    body_seconds: float = 30.0
    """Then for the body, and one second more for every `body_rate` bytes of it that came."""
    body_rate: int = 64 * 1024
    """Slower than this for long is an attack or a sender that has given up long ago."""
    idle_seconds: float = 75.0
    """Keep-alive: longer than the 60 s after which common proxies let go, so that they close first and no request of
    theirs meets our closing."""
    linger_seconds: float = 2.0
    linger_bytes: int = 64 * 1024
    """After a refusal we read on for this long and this much: closing with unread bytes sends a reset, which destroys
    the answer on its way."""
    connections: int = 10_000
    """At a few KiB each, far more than webhook senders open."""
    body_budget: int = 64 * 1024 * 1024
    """Bytes of bodies that are still arriving, over all connections."""


class Sweepable(Protocol):
    deadline: float

    def expire(self) -> None: ...

    def drain(self) -> None: ...

    def cut(self) -> None: ...


class Front:
    def __init__(self, intake: Intake, *, limits: Limits, time: Callable[[], float]) -> None:
        self.intake = intake
        self.limits = limits
        self.time = time
        self.connections: set[Sweepable] = set()
        self.arriving = 0
        """Bytes of bodies that are still arriving."""
        self.is_draining = False
        self.on_empty: Callable[[], None] = _ignore

    @property
    def is_full(self) -> bool:
        return len(self.connections) >= self.limits.connections

    def sweep(self) -> None:
        """End what is past its deadline. One sweep a second for all, because a timer armed and cancelled for every
        request would cost more than reading the request does."""
        now = self.time()
        for connection in [c for c in self.connections if c.deadline <= now]:
            connection.expire()

    def drain(self) -> None:
        """Close what is idle; the rest closes after its answer."""
        self.is_draining = True
        for connection in list(self.connections):
            connection.drain()

    def cut(self) -> None:
        """Nobody gets more time."""
        for connection in list(self.connections):
            connection.cut()

    def leave(self, connection: Sweepable) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self.on_empty()


def _ignore() -> None:
    pass
