"""What an event that its lifecycle does not allow yet waits for, and how long, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from landfast.cli.output import duration, safe, say
from landfast.domain.lifecycle import State
from landfast.domain.machine import Machine, machine_of, shown_reason
from landfast.domain.summary import EventRecord, EventSummary


def why(event: EventSummary) -> str:
    """Why an event is where it is, in a table."""
    return event.message if event.state is State.PARKED and event.message else event.error or shown_reason(event.reason)


def say_parked(record: EventRecord, machines: Mapping[str, Machine], *, now: datetime) -> None:
    event = record.summary
    if event.state is not State.PARKED:
        return
    say(f"parked: {safe(event.message)}; it is tried as soon as its entity moves{_at_last(record, machines, now)}")


def _at_last(record: EventRecord, machines: Mapping[str, Machine], now: datetime) -> str:
    """What becomes of it otherwise, where the lifecycle is known here."""
    machine = machines.get(machine_of(record.summary.reason) or "")
    since = next((tries.parked for tries in record.tries.values() if tries.parked is not None), None)
    if machine is None or since is None:
        return ""
    left = (since + timedelta(seconds=machine.deadline) - now).total_seconds()
    then = "runs all the same" if machine.runs_at_deadline else "becomes a dead letter"
    return f", and {then} in {duration(max(left, 0.0))} if it does not"
