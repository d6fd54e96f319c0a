"""When a failed event is tried again, and when Landfast gives up: from what was stored, without the application."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Tries
from landfast.domain.summary import EventRecord


@dataclass(frozen=True, slots=True)
class Schedule:
    handler: str
    attempts_made: int
    attempts_left: int | None
    """None where only time limits them."""
    next_try_at: datetime | None
    """None where it waits for something else than time."""
    gives_up_at: datetime | None
    """The latest moment, if it fails every time until then. Outages, breakers and pauses move it, and so does a handler
    that asks for a wait: their time is not counted."""


def schedules(record: EventRecord) -> Sequence[Schedule]:
    """One for each handler that has failed and is tried again."""
    return [_schedule(record, handler, tries) for handler, tries in record.tries.items() if tries.count]


def _schedule(record: EventRecord, handler: HandlerName, tries: Tries) -> Schedule:
    next_try = _next_try(record, tries)
    left = None if tries.attempts is None else max(0, tries.attempts - tries.count)
    if next_try is None or not tries.total:
        return Schedule(handler, tries.count, left, next_try, None)
    # The time until the next try is spent already.
    return Schedule(handler, tries.count, left, next_try, next_try + timedelta(seconds=tries.total - tries.spent))


def _next_try(record: EventRecord, tries: Tries) -> datetime | None:
    """Postponed, the event is due later than this handler was; woken for another handler, earlier."""
    due = record.summary.due_at
    if record.summary.state is not State.DELAYED or due is None:
        return None
    return due if tries.due is None else max(due, tries.due)
