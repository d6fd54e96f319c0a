"""Arrivals: events that steps of other events wait for, as users declare them and ask for them.

An event has arrived when the handler that the declaration is about has committed: whoever waits for it finds what that
handler wrote.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from landfast.domain.errors import StagingError
from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, InboxId
from landfast.domain.machine import Read, in_words
from landfast.domain.reading import name_in

LOOKS_BACK = timedelta(hours=1)
"""For an event that came before somebody waits for it. Webhooks of one action come within minutes of each other, in any
order; of an older one nobody knows whether it is about the same action."""

WAITS_AT_MOST = timedelta(days=366)
"""As long as a dead letter is kept: whoever waits longer waits for something that nobody remembers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """What `inbox.arrival` returns: an event of this source and type, handled."""

    source: str
    """As it was declared."""
    type: str
    """One type, and no pattern."""
    entity: Read
    """What an event is about, by which those find it that wait for it."""
    handler: HandlerName | None = None
    """Whose COMMIT counts, where several take such events."""

    @property
    def label(self) -> str:
        """Its source and type, as people see it among the effects of an event."""
        return f"{self.source}:{self.type}"

    def of(
        self, entity: object, *, deadline: timedelta, on_deadline: str = "dead", back: timedelta = LOOKS_BACK
    ) -> Awaited:
        """In `after=[...]` of `tx.stage`: the step begins once such an event about this entity was handled, from now
        on or up to `back` ago. If none was by the `deadline`, what waits is a dead letter ("dead"), or the step is
        performed all the same, and `effect.timed_out` says so ("run")."""
        what = f"{self.label}.of({entity!r})"
        name = name_in(entity)
        if name is None:
            raise StagingError(f"{what}: the entity is a text of at most 500 characters, or a whole number")
        if on_deadline not in ("dead", "run"):
            raise StagingError(f"{what}: on_deadline is {on_deadline!r}; it is 'dead' or 'run'")
        if not isinstance(deadline, timedelta) or not timedelta(0) < deadline <= WAITS_AT_MOST:
            raise StagingError(
                f"{what}: deadline is {deadline!r}; it is a timedelta, such as timedelta(hours=24), and at most"
                f" {WAITS_AT_MOST.days} days"
            )
        if not isinstance(back, timedelta) or not timedelta(0) <= back <= WAITS_AT_MOST:
            raise StagingError(f"{what}: back is {back!r}; it is a timedelta, and at most {WAITS_AT_MOST.days} days")
        return Awaited(self, name, deadline.total_seconds(), back.total_seconds(), on_deadline == "run")


class Awaited(NamedTuple):
    """What one step asked for."""

    arrival: Arrival
    entity: str
    deadline: float
    back: float
    runs: bool
    """Whether the step is performed when the deadline is over."""

    def __str__(self) -> str:
        return f"{self.arrival.label}.of({self.entity!r})"


@dataclass(frozen=True, slots=True)
class Awaits:
    """What an effect waits for that stands for an arrival. The entity is in the key alone: it may be a person's, and
    nothing that is erased would reach it here."""

    key: str
    deadline: float
    back: float
    runs: bool = False

    def told(self, label: str) -> str:
        """Why it is dead, in words."""
        source, _, type_ = label.partition(":")
        return (
            f"no {type_} of {source} about its entity was handled within {in_words(self.deadline)};"
            " when it was, or to look again: landfast effects retry"
        )


class Arrived(NamedTuple):
    """An event that a handler is about to commit, and for which others may wait."""

    key: str
    event: str
    """Its id."""


def is_brought_by(arrival: Arrival, event: Event, handler: HandlerName) -> bool:
    """Whether this handler's COMMIT of this event is what others wait for."""
    is_the_one = arrival.handler is None or arrival.handler == handler
    return is_the_one and arrival.type == event.type and arrival.source == event.source


def arrival_key(inbox: InboxId, arrival: Arrival, entity: str) -> str:
    """The row of the ledger at which who waits and who comes meet."""
    parts = (inbox, arrival.source.encode(), arrival.type.encode(), entity.encode("utf-8", "surrogatepass"))
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return f"arrival:{hashlib.sha256(b'arrival' + framed).hexdigest()[:32]}"
