"""Rates: what flowed in each minute, who is at work, and who was turned away. Made as events flow, cheap to read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from landfast.domain.ids import BootId

MINUTE_SECONDS, HOUR_SECONDS = 60, 3600

MINUTES_KEPT = timedelta(days=2)
"""By the minute; then they are added up to hours. Whoever looks back further asks about days."""

HOURS_KEPT = timedelta(days=35)
"""Five weeks, so that each hour of the week was seen five times by whoever learns what is usual in it."""

FOLDED_AT_ONCE = 2_000
"""Rows that one pass folds or drops: some milliseconds of a transaction."""

TYPES_AT_MOST = 500
"""Of one source, in one report: a sender that puts an id into the type would fill the table."""

DETAILS_AT_MOST = 50
"""Error classes and causes beside one handler or source, for the same reason."""

NAME_CHARACTERS = 200
"""Of a type, a handler or a detail: a row of the index must fit on a page."""

REST = "*"
"""The type or the detail under which all others are counted once there are too many."""

LATENCY_BOUNDS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper ends of the buckets of a histogram; one more bucket holds what took longer. A commit takes a few
milliseconds, a handler is cancelled after 30 seconds by default."""

LATENCY_BUCKETS = len(LATENCY_BOUNDS_SECONDS) + 1

BEAT_SECONDS = 3.0
"""Between two heartbeats: three tries within the time after which a process counts as gone."""

SILENT_AFTER_SECONDS = 10.0
"""Without a heartbeat, until a process counts as gone."""

GONE_KEPT = timedelta(days=1)
"""How long the last heartbeat of a process is kept that ended without a word: somebody may look for it."""

REJECTIONS_KEPT = 1_000
REJECTIONS_KEPT_OF_ONE = 250
"""Rows of rejections, in all and of one source: a flood at one address pushes nobody else's out."""


class Meter(StrEnum):
    """What is counted."""

    RECEIVED = "received"
    """Requests that named a source, and of source "" those that named none of ours."""
    STORED = "stored"
    """New events, by type, with the time from the head of the request to the answer."""
    DUPLICATE = "duplicate"
    """Deliveries of known events. `detail` is the layer that knew them: memory, shared or inbox."""
    REJECTED = "rejected"
    """Requests that were refused. `detail` is the cause."""
    DONE = "done"
    """Runs of a handler that were committed, with the time that it took."""
    FAILED = "failed"
    """Runs of a handler that failed. `detail` is the class of the error."""
    DEAD = "dead"
    """Events that became dead letters. `detail` is the class of the error, or the reason where there is none."""
    UNHANDLED = "unhandled"
    """Events that no handler takes."""


class RateKey(NamedTuple):
    """A tuple, because it is looked up for each event."""

    meter: Meter
    source: str = ""
    type: str = ""
    handler: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Rate:
    """One row: so many in this minute, or in this hour once it is folded."""

    minute: datetime
    """UTC: when the minute, or the hour, began."""
    meter: Meter
    source: str = ""
    type: str = ""
    handler: str = ""
    detail: str = ""
    count: int = 0
    histogram: tuple[int, ...] = ()
    """Of STORED and DONE: how many took up to each of `LATENCY_BOUNDS_SECONDS` and longer than the one before, and last
    those that took longer than all of them. Empty for the others."""
    seconds: int = MINUTE_SECONDS
    """How long it counts for."""

    @property
    def key(self) -> RateKey:
        return RateKey(self.meter, self.source, self.type, self.handler, self.detail)


class Latest(NamedTuple):
    """When a meter last counted anything of a source, and of a handler where it has one."""

    meter: Meter
    source: str
    handler: str
    at: datetime


class Waiting(NamedTuple):
    """A source and type that has ready events."""

    source: str
    type: str
    since: datetime | None
    """When the oldest of them was received; None where all that come next were tried before, and wait for less."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """What one process says of itself every few seconds."""

    boot: BootId
    role: str
    """intake, worker or drainer."""
    host: str
    pid: int
    started_at: datetime
    seen_at: datetime
    """Told: by its own clock. Read: by the inbox's."""
    doing: Mapping[str, Any] = field(default_factory=dict)
    """JSON: address, events in hand, spool records, free bytes of its disks, as far as it knows them."""
    skew: float = 0.0
    """Read only: by how many seconds its clock is ahead of the inbox's."""
    age: float = 0.0
    """Read only: how many seconds ago it was heard, by the inbox's clock."""

    @property
    def is_alive(self) -> bool:
        return self.age <= SILENT_AFTER_SECONDS


@dataclass(frozen=True, slots=True)
class Rejection:
    """Requests of one minute that were refused alike. Nothing of it was proven, so it has no body, and of the headers
    the names alone."""

    at: datetime
    """The first of them."""
    source: str
    """Empty where the path named none of ours."""
    path: str
    address: str
    """`*` for many at once; empty where nobody knows it."""
    cause: str
    status: int
    """Of the answer."""
    headers: tuple[str, ...] = ()
    count: int = 1

    @property
    def minute(self) -> datetime:
        return minute_of(self.at)


def minute_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(second=0, microsecond=0)


def hour_of(at: datetime) -> datetime:
    return minute_of(at).replace(minute=0)


def bucket_of(seconds: float) -> int:
    """The place in a histogram."""
    return bisect_left(LATENCY_BOUNDS_SECONDS, seconds)


def quantile(histogram: Iterable[int], share: float) -> float | None:
    """The upper end, in seconds, of the bucket in which this share of all is reached; inf for the last one, None where
    nothing was counted."""
    counts = tuple(histogram)
    wanted = sum(counts) * share
    if not wanted:
        return None
    reached = 0
    for bound, count in zip((*LATENCY_BOUNDS_SECONDS, float("inf")), counts, strict=True):
        reached += count
        if reached >= wanted:
            return bound
    return None


def add_histograms(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
    if not (one and other):
        return one or other
    return tuple([mine + theirs for mine, theirs in zip(one, other, strict=True)])


def summed(rates: Iterable[Rate]) -> list[Rate]:
    """One row where several have the same minute and key."""
    found: dict[tuple[datetime, int, RateKey], Rate] = {}
    for rate in rates:
        place = (rate.minute, rate.seconds, rate.key)
        before = found.get(place)
        if before is not None:
            histogram = add_histograms(before.histogram, rate.histogram)
            rate = replace(before, count=before.count + rate.count, histogram=histogram)  # noqa: PLW2901 - the sum
        found[place] = rate
    return list(found.values())


def by_the_hour(rates: Iterable[Rate]) -> list[Rate]:
    return summed(replace(rate, minute=hour_of(rate.minute), seconds=HOUR_SECONDS) for rate in rates)
