"""How long things are kept: ages by source and state, and what a pass that goes by them did.

An event's *content* is its headers and body; its *row* is everything else that is known of it: key, type, history and
identity. Content goes first, and the row no sooner than the dedup memory ends: a sender that tries again after that is
taken for a stranger. Receipts in the ledger outlive rows. So: receipts >= identities >= bodies.

Only what is over leaves: done, dead and unhandled events. Ages count from the last thing that happened to an event, its
newest line of history, or from its arrival where nothing did.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from landfast.domain.lifecycle import State

DAY_SECONDS = 86_400.0
FOREVER = math.inf

BACKUP_HORIZON_SECONDS = 35 * DAY_SECONDS
"""Receipts outlive identities by this: an inbox restored from a backup of that age still finds what was done."""

EXPIRES = (State.DONE, State.DEAD, State.UNHANDLED)
"""The only states in which an event can leave. In all others somebody still means to do something with it."""


class Ages(NamedTuple):
    """Of one source, in seconds; FOREVER for what is never removed."""

    bodies: float = 90 * DAY_SECONDS
    """Of done events."""
    dead: float = 365 * DAY_SECONDS
    unhandled: float = 90 * DAY_SECONDS
    memory: float = 35 * DAY_SECONDS
    """The dedup memory: for so long at least a delivery is known again."""

    def content(self, state: State) -> float:
        """When headers and body go. What is unhandled goes as a whole: a handler may still be deployed for it."""
        return self.row(state) if state is State.UNHANDLED else self._of(state)

    def row(self, state: State) -> float:
        """When the rest of it goes, and the identity with it."""
        return max(self.memory, self._of(state))

    def _of(self, state: State) -> float:
        if state is State.DONE:  # nearly all of them
            return self.bodies
        return {State.DEAD: self.dead, State.UNHANDLED: self.unhandled}.get(state, FOREVER)

    @property
    def longest(self) -> float:
        return max(self.row(state) for state in EXPIRES)

    def with_bodies(self, seconds: float) -> Ages:
        return self._replace(bodies=min(self.bodies, seconds))


class Verdict(Enum):
    """What of an event has to go now."""

    NOTHING = "nothing"
    CONTENT = "content"
    ALL = "all"


class Standing(NamedTuple):
    """What decides about one event."""

    source: str
    state: State
    age: float
    """Seconds since its newest line of history, or since it arrived where it has none."""
    newest_line: int
    """Its number; 0 where there is none."""
    is_expired: bool
    """Its content is gone already."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The ages of all sources. One that the settings do not name any more has the default ones."""

    default: Ages = field(default_factory=Ages)
    sources: Mapping[str, Ages] = field(default_factory=dict)
    receipts_at_least: float = 0.0

    def of(self, source: str) -> Ages:
        return self.sources.get(source, self.default)

    def judge(self, event: Standing) -> Verdict:
        ages = self.of(event.source)
        if event.age > ages.row(event.state):
            return Verdict.ALL
        is_due = event.age > ages.content(event.state) and not event.is_expired
        return Verdict.CONTENT if is_due else Verdict.NOTHING

    def due_in(self, source: str, state: State | None, age: float) -> float:
        """Seconds until more of such an event has to go, if nothing happens to it. What is not over, whatever its state
        is, has all of its time before it once it will be."""
        ages = self.of(source)
        if state not in EXPIRES:
            return min(map(ages.content, EXPIRES))
        return min((each - age for each in (ages.content(state), ages.row(state)) if each > age), default=FOREVER)

    @property
    def all(self) -> Iterable[Ages]:
        return (self.default, *self.sources.values())

    @property
    def receipts(self) -> float:
        """Seconds that a receipt is kept: longer than any row that can ask for it."""
        return max(self.receipts_at_least, max(ages.longest for ages in self.all) + BACKUP_HORIZON_SECONDS)

    def with_bodies(self, seconds: float) -> Retention:
        """For one pass: bodies are kept for this long at most. Copies of the inbox know the ages of before, and may be
        restored: so receipts are kept for as long as ever."""
        sources = {name: ages.with_bodies(seconds) for name, ages in self.sources.items()}
        return Retention(self.default.with_bodies(seconds), sources, self.receipts)


@dataclass(frozen=True, slots=True)
class Count:
    """Events of one source in one state."""

    bodies: int = 0
    """Whose content went, or would go, and whose row stays."""
    events: int = 0
    """Of which everything went, or would go."""

    def __add__(self, other: Count) -> Count:
        return Count(self.bodies + other.bodies, self.events + other.events)


Counts = Mapping[tuple[str, State], Count]
"""By source and state."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one small piece of a pass did, committed."""

    what: str
    """In words, for whoever watches: `looked through the week of 2026-08-10`, `dropped body_2026w33`."""
    looked_at: int = 0
    counts: Counts = field(default_factory=dict)
    bytes_freed: int = 0
    """Given back to the disk, where that is known."""
    is_left: bool = False
    """It could not be done now, because somebody reads or writes there; the next pass tries again."""
    held_back: int = 0
    """Events whose time has come and that are not proven yet: their newest line is above the audit's mark."""


TURN_LOST = "another pass has the turn, and goes on with what is left"


@dataclass(frozen=True, slots=True)
class LastPass:
    """What is known of passes, for people."""

    began_at: datetime | None = None
    ended_at: datetime | None = None
    """Of the last one that came to its end."""
    is_running: bool = False
    oldest: datetime | None = None
    """When the oldest event arrived that is still whole."""
