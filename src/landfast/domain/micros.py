"""Times and spans as SQLite keeps them: whole microseconds, since 1970 or long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

LONGEST_DELAY = 10 * 365 * 86_400.0
"""Seconds: ten years. What a handler asks for may be any number, and calendars and integers end."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def micros_in(seconds: float) -> int:
    return int(min(seconds, LONGEST_DELAY) * 1_000_000)


def moment(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)
