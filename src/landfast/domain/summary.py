"""What people look at: events as rows, and one event with its whole history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.ids import EventId, HandlerName, Token, worker_of
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
    due_at: datetime | None = None
    """When a delayed event is tried again."""
    redelivered: int = 0
    """How often the sender delivered it again."""
    erased_at: datetime | None = None
    """When an operator had its content erased. What it was and what became of it is still known."""


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


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a listing, newest first: rows strictly older than this follow."""

    received_at: datetime
    event_id: EventId
