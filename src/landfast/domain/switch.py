"""A switch that somebody has thrown: as long as it is in force, all workers leave something alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class SwitchKind(StrEnum):
    SOURCE = "source"
    """Paused by an operator: its events are stored and not processed."""
    HANDLER = "handler"
    """Paused by an operator: the event's other handlers run."""
    DEPENDENCY = "dependency"
    """Paused by an operator: handlers and effects that use it wait."""
    BREAKER = "breaker"
    """Opened by a worker that saw a handler fail too often, or what it depends on."""


@dataclass(frozen=True, slots=True)
class Switch:
    kind: SwitchKind
    name: str
    why: str
    who: str
    """The operator or the worker who threw it."""
    at: datetime
    """Since when it is in force. A breaker whose probes fail is open all the time."""
    until: datetime | None = None
    """When it is in force no longer; None for until somebody lifts it."""
    at_once: bool = False
    """Whether workers take back what they have in hand of it."""

    @property
    def reason(self) -> str:
        """What an event says that is paused by it: by this word it is found when the switch is lifted."""
        return pause_reason(self.kind, self.name)


def pause_reason(kind: SwitchKind, name: str) -> str:
    return f"{kind}:{name}"
