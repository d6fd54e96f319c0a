"""A lifecycle as its user declared it: the states of an entity, and which may follow which.

An event leads its entity to a state. Whether that is legal depends on the state that the entity is in, which the ledger
knows. An entity that no event has moved yet is ABSENT.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from landfast.domain.event import Event
from landfast.domain.lane_memory import LaneState, StateKey

ABSENT = "absent"
"""The state of an entity that was never moved."""

Read = Callable[[Event], object]
"""What a declaration reads of an event; None where there is nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    name: str
    states: tuple[str, ...]
    """All but ABSENT, in the order in which they were declared."""
    transitions: Mapping[str, tuple[str, ...]]
    """From each state, ABSENT too, to those that may follow it."""
    entity: Read
    state_of: Read
    types: Mapping[str, str]
    """Which types lead to which state, where the declaration says so."""
    deadline: float
    """Seconds that an event waits to become legal."""
    runs_at_deadline: bool
    """It runs then all the same, where it would otherwise be a dead letter."""

    def allows(self, state: str | None, to: str) -> bool:
        return to in self.transitions.get(state or ABSENT, ())

    def is_last(self, state: str) -> bool:
        return not self.transitions.get(state)

    def wanted_for(self, to: str) -> str:
        """What an event that leads there waits for, in words."""
        before = [state for state, follow in self.transitions.items() if to in follow and state != ABSENT]
        types = [type_ for type_, state in self.types.items() if state in before]
        return " or ".join(types or [f"the state {state!r}" for state in before]) or "a transition that leads there"


class Step(NamedTuple):
    """What one event means to one entity."""

    machine: Machine
    key: StateKey
    to: str
    since: datetime | None = None
    """When it was parked first, if it was."""

    @property
    def reason(self) -> str:
        """What it is parked for: whoever moves the entity stirs all that wait for this."""
        return parked_for(self.key)

    def left(self, now: datetime) -> float:
        """Seconds that it may still wait."""
        until = (self.since or now) + timedelta(seconds=self.machine.deadline)
        return (until - now).total_seconds()

    def moved(self) -> LaneState:
        return LaneState(*self.key, self.to, self.machine.is_last(self.to))

    def told(self, type_: str, state: str | None, *, is_over: bool) -> str:
        """Why it does not run, in words."""
        wanted = self.machine.wanted_for(self.to)
        waits = f"waited {in_words(self.machine.deadline)} for {wanted}" if is_over else f"waits for {wanted}"
        return f"{type_} is not legal from {state or ABSENT!r} in lifecycle {self.machine.name}; {waits}"


def parked_for(key: StateKey) -> str:
    return f"lifecycle:{key.machine}:{key.lane.hex()}"


def machine_of(reason: str) -> str | None:
    """The name of the lifecycle that an event is parked for; None if this is another kind of reason."""
    kind, _, rest = reason.partition(":")
    return rest.rpartition(":")[0] if kind == "lifecycle" and ":" in rest else None


def shown_reason(reason: str) -> str:
    """What an event is parked for without the digest by which it is found; any other reason as it is."""
    name = machine_of(reason)
    return reason if name is None else f"lifecycle:{name}"


def in_words(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g} {unit}" if (unit, seconds) != ("days", size) else "1 day"
    return f"{seconds:g} s"
