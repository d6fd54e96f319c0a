"""Events that no handler took: how many there are, and what becomes of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from landfast.domain.patterns import matches


@dataclass(frozen=True, slots=True)
class UnhandledCount:
    source: str
    type: str
    count: int


class Unhandled(StrEnum):
    """What a source does with an event that no handler takes."""

    KEEP = "keep"
    """Wait for a handler, for as long as it takes."""
    DONE = "done"
    """Done without one."""
    DEAD = "dead"
    """A dead letter: somebody has to look at it."""


@dataclass(frozen=True, slots=True)
class Wants:
    """What a source says about events that nobody takes, or nobody wants."""

    unhandled: Unhandled = Unhandled.KEEP
    ignore: tuple[str, ...] = ()
    """Patterns of types that nobody wants, whatever handlers there are: done at once."""

    def ignores(self, type_: str) -> bool:
        return bool(self.ignore) and any(matches(pattern, type_) for pattern in self.ignore)
