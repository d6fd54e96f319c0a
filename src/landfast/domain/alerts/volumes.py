"""What is usual: counts by the quarter of an hour, and what the same time of earlier weeks says about now."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from types import MappingProxyType

from landfast.domain.rates import MINUTE_SECONDS, Meter, Rate

QUARTER = timedelta(minutes=15)
WEEK = timedelta(days=7)
DAY_QUARTERS = 96

WEEKS_LOOKED_AT = 4
"""As far as the rates reach back. The median of four forgives one odd week."""

WEEKS_AT_LEAST = 2
"""With fewer, the last day says what is usual."""

BESIDE = 2
"""Quarters before and after the same one of an earlier week that count as the same time: a nightly job may be late."""

CLOCK_CHANGE = 4 * QUARTER
"""A sender's day moves by that when its clocks are changed, twice a year, while ours are UTC. For weeks its hours are
those of earlier weeks, only an hour before or after; nobody tells us where it lives."""

HOURS_AT_LEAST = 2
"""Of the last day, before it says anything."""

LAST_HOUR_QUARTERS = 4
"""Left out of the last day: what goes wrong now must not become the usual."""

BY_HANDLER = frozenset({Meter.DONE})
BY_SOURCE = frozenset({Meter.STORED, Meter.DUPLICATE, Meter.DEAD, Meter.REJECTED})

_MAD_TO_DEVIATION = 1.4826
"""What makes the median of deviations comparable with a standard deviation."""


def quarter_of(moment: datetime) -> datetime:
    return moment.replace(minute=moment.minute // 15 * 15, second=0, microsecond=0)


@dataclass(frozen=True, slots=True)
class Volume:
    """How much of one thing there was in one quarter of an hour."""

    quarter: datetime
    meter: Meter
    name: str
    """Of the handler for what handlers did, and of the source for everything else."""
    count: int


def volumes(rates: Iterable[Rate]) -> list[Volume]:
    """Rates by the minute, added up by the quarter. Those by the hour are too coarse, and left out."""
    found = Counter[tuple[datetime, Meter, str]]()
    for rate in rates:
        if rate.seconds > MINUTE_SECONDS:
            continue
        if rate.meter in BY_SOURCE or (rate.meter in BY_HANDLER and rate.handler):
            name = rate.handler if rate.meter in BY_HANDLER else rate.source
            found[quarter_of(rate.minute), rate.meter, name] += rate.count
    return [Volume(*key, count) for key, count in sorted(found.items())]


def quarters_wanted(now: datetime) -> list[datetime]:
    """Those that say what is usual now: the last day, and the same of the weeks before, by clocks that were changed."""
    last, moved = quarter_of(now), CLOCK_CHANGE // QUARTER
    day = [last - number * QUARTER for number in range(-BESIDE - moved, DAY_QUARTERS + moved)]
    return [quarter - week * WEEK for week in range(WEEKS_LOOKED_AT + 1) for quarter in day]


class Basis(StrEnum):
    WEEKS = "at this time of earlier weeks"
    DAY = "in the last day"


@dataclass(frozen=True, slots=True)
class Usual:
    """What 15 minutes usually bring."""

    middle: float
    spread: float
    """Like a standard deviation, and never less than chance alone makes it."""
    most: float
    """In the busiest quarter of a usual week; of the last day, in its busiest quarter."""
    basis: Basis


Counts = Mapping[tuple[Meter, str], Mapping[datetime, int]]


class Past:
    """Quarters that were counted, and what was counted in them. It never changes; what is usual is worked out once."""

    def __init__(self, counted: frozenset[datetime] = frozenset(), counts: Counts = MappingProxyType({})) -> None:
        self.counted = counted
        self.counts = counts
        self._first = {key: min(own) for key, own in counts.items() if own}
        self._usual: dict[tuple[Meter, str, datetime], Usual | None] = {}

    @classmethod
    def of(cls, counted: Iterable[datetime], found: Iterable[Volume]) -> Past:
        counts: defaultdict[tuple[Meter, str], dict[datetime, int]] = defaultdict(dict)
        for volume in found:
            counts[volume.meter, volume.name][volume.quarter] = volume.count
        return cls(frozenset(counted), dict(counts))

    def names(self, meter: Meter) -> list[str]:
        return sorted(name for kind, name in self.counts if kind is meter)

    def count(self, meter: Meter, name: str, quarter: datetime) -> int | None:
        """None where nobody counted, or the name was not known yet."""
        first = self._first.get((meter, name))
        if first is None or quarter < first or quarter not in self.counted:
            return None
        return self.counts[meter, name].get(quarter, 0)

    def usual(self, meter: Meter, name: str, now: datetime) -> Usual | None:
        """None where too little is known."""
        key = (meter, name, quarter_of(now))
        if key not in self._usual:
            self._usual[key] = self._learn(*key)
        return self._usual[key]

    def usuals(self, meter: Meter, name: str, now: datetime) -> list[Usual]:
        """What is usual now, first; then what was usual in earlier weeks an hour before and an hour after: clocks
        may have been changed since. Empty where too little is known. What is usual by any of them is no news."""
        here = self.usual(meter, name, now)
        if here is None or here.basis is not Basis.WEEKS:
            return [here] if here else []
        moved = (self.usual(meter, name, now + shift) for shift in (-CLOCK_CHANGE, CLOCK_CHANGE))
        return [here, *(one for one in moved if one is not None and one.basis is Basis.WEEKS)]

    def _learn(self, meter: Meter, name: str, last: datetime) -> Usual | None:
        near = range(-BESIDE, BESIDE + 1)
        weeks = [
            found
            for week in range(1, WEEKS_LOOKED_AT + 1)
            if (found := self._known(meter, name, (last - week * WEEK + step * QUARTER for step in near)))
        ]
        if len(weeks) >= WEEKS_AT_LEAST:
            return _usual([count for week in weeks for count in week], median(map(max, weeks)), Basis.WEEKS)
        day = self._known(meter, name, (last - n * QUARTER for n in range(LAST_HOUR_QUARTERS, DAY_QUARTERS)))
        return _usual(day, max(day), Basis.DAY) if len(day) >= HOURS_AT_LEAST * 4 else None

    def _known(self, meter: Meter, name: str, quarters: Iterable[datetime]) -> list[int]:
        return [count for quarter in quarters if (count := self.count(meter, name, quarter)) is not None]

    def between(self, meters: Sequence[Meter], name: str, start: datetime, end: datetime) -> int | None:
        """In the whole quarters between the two; None where most of them were not counted."""
        asked = list(_quarters(start, end))
        known = [quarter for quarter in asked if any(self.count(meter, name, quarter) is not None for meter in meters)]
        if not asked or len(known) < len(asked) * 0.8:
            return None
        return sum(self.count(meter, name, quarter) or 0 for quarter in known for meter in meters)


def _quarters(start: datetime, end: datetime) -> Iterator[datetime]:
    quarter = quarter_of(start)
    quarter = quarter if quarter == start else quarter + QUARTER
    while quarter + QUARTER <= end:
        yield quarter
        quarter += QUARTER


def _usual(counts: Sequence[int], most: float, basis: Basis) -> Usual:
    middle = float(median(counts))
    deviation = _MAD_TO_DEVIATION * float(median(abs(count - middle) for count in counts))
    return Usual(middle, max(deviation, math.sqrt(middle), 1.0), float(most), basis)
