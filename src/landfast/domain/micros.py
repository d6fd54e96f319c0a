"""Times and spans as SQLite keeps them: whole microseconds, since 1970 or long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from landfast.domain.outcome import LONGEST_DELAY

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def micros_in(seconds: float) -> int:
    return int(min(seconds, LONGEST_DELAY) * 1_000_000)


def moment(value: int) -> datetime:
    return _EPOCH + timedelta(microseconds=value)
