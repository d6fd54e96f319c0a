"""What people look at: events as rows, and one event with its whole history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from landfast.domain.erasure import without_texts
from landfast.domain.ids import EventId, HandlerName, Token, worker_of
from landfast.domain.lane import LanePlace
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import NO_TRIES, Attempt, Tries


@dataclass(frozen=True, slots=True)
class EventSummary:
    event_id: EventId
    source: str
    key: str
    type: str
    entity: str | None
    occurred_at: datetime | None
    received_at: datetime
    state: State
    run: int
    reason: str = ""
    error: str = ""
    message: str = ""
    handler: str = ""
    line: str = ""
    """Of the user's code in which it failed, where it waits or is dead."""
    since: datetime | None = None
    """Since when it waits, or is dead. None where an earlier version shelved it."""
    due_at: datetime | None = None
    """When a delayed event is tried again."""
    redelivered: int = 0
    """How often the sender delivered it again."""
    erased_at: datetime | None = None
    """When an operator had its content erased. What it was and what became of it is still known."""
    body_expired_at: datetime | None = None
    """When its headers and body were removed because they were old enough."""


@dataclass(frozen=True, slots=True)
class HistoryLine:
    at: datetime
    run: int
    signal: Signal
    state: State
    """The state that the signal led to."""
    attempts: tuple[Attempt, ...] = ()
    reason: str = ""
    who: str = ""
    """The operator, for what an operator did."""

    def without_texts(self) -> HistoryLine:
        """What a sealed inbox shows to everybody, too."""
        return replace(self, attempts=without_texts(self.attempts))


@dataclass(frozen=True, slots=True)
class InHand:
    """Who has claimed an event."""

    worker: str
    """The id that the worker logs when it starts."""
    since: datetime | None
    """None where an older version claimed it."""


def in_hand_of(token: Token | None, since: datetime | None) -> InHand | None:
    return None if token is None else InHand(worker_of(token).hex(), since)


@dataclass(frozen=True, slots=True)
class EventRecord:
    summary: EventSummary
    headers: bytes
    body: bytes
    history: tuple[HistoryLine, ...]
    """Oldest first."""
    tries: Mapping[HandlerName, Tries] = field(default_factory=lambda: NO_TRIES)
    """Of handlers that have failed and are tried again."""
    in_hand: InHand | None = None
    """While it is claimed."""
    came_again: tuple[datetime, ...] = ()
    """When deliveries of it were answered as known, oldest first, to the second in which an intake reported them:
    several of one second are one time. The first ones and the newest; those between are counted alone."""


CAME_AGAIN_AT_MOST = 16
"""Times kept of an event: senders that try again for days do it so often. It bounds what a storm of one event costs."""


@dataclass(frozen=True, slots=True)
class WaitingLane:
    """A lane that does not move, and the event that it waits for: the first that holds it."""

    source: str
    entity: str
    waiting: int
    """How many events are queued in it."""
    event_id: EventId
    state: State
    since: datetime | None
    """Since when that one is in its state, where that is known."""
    handler: str = ""
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class InLane:
    """Where one event stands in its lane."""

    place: LanePlace
    behind: EventId | None
    """The first event that holds the lane before it. None where it is the first itself."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a listing: rows that are strictly older follow, or newer ones where the oldest come first."""

    received_at: datetime
    event_id: EventId
