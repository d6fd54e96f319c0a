"""Dead letters: everything that somebody needs who decides what becomes of an event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord

REPLAY_POLICY = "manual"
"""An operator replays, after the fix. Nothing replays a dead letter by itself."""


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that waits for an operator, and why: what a function of `inbox.on_dead` is given."""

    event_id: str
    """Landfast's own, of 32 hex digits: what `landfast dead show` takes."""
    source: str
    """The name that it is configured under."""
    key: str
    """The sender's id of the event, or a digest."""
    type: str
    """In the sender's words."""
    body: bytes
    """Exactly as it came."""
    headers: bytes
    """Of the first delivery, as JSON."""
    reason: str
    """Why Landfast gave up, in one word."""
    handler: str
    """The one that failed; empty where none was tried."""
    error: str
    """The error's class."""
    message: str
    """The error's text. It may hold what the sender sent."""
    trace: str
    """The error's stack."""
    attempts: int
    """Counted ones, of the handler that failed, in the run that died."""
    run: int
    """1, and one more for each replay."""
    received_at: datetime
    """When its first delivery came."""
    first_failed_at: datetime | None
    """When its first attempt of this run failed."""
    died_at: datetime | None
    """When it became a dead letter."""
    replay_policy: str = REPLAY_POLICY
    """Always `manual`: an operator replays, after the fix."""


def dead_letter(record: EventRecord) -> DeadLetter | None:
    """None for an event that is not dead."""
    event = record.summary
    if event.state is not State.DEAD:
        return None
    this_run = [line for line in record.history if line.run == event.run]
    failures = [
        (line.at, attempt)
        for line in this_run
        for attempt in line.attempts
        if attempt.error and attempt.handler in {event.handler, ""}
    ]
    deaths = [line.at for line in this_run if line.state is State.DEAD]
    traces = [attempt.trace for _, attempt in failures if attempt.trace]
    return DeadLetter(
        event_id=event.event_id.hex(),
        source=event.source,
        key=event.key,
        type=event.type,
        body=record.body,
        headers=record.headers,
        reason=event.reason,
        handler=event.handler,
        error=event.error,
        message=event.message,
        trace=traces[-1] if traces else "",
        attempts=max((attempt.number for _, attempt in failures), default=0),
        run=event.run,
        received_at=event.received_at,
        first_failed_at=failures[0][0] if failures else None,
        died_at=deaths[-1] if deaths else None,
    )
