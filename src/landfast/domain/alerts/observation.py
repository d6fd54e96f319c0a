"""What the rules look at. Nothing here asks anybody: whoever evaluates has read it before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

from landfast.domain.alerts.volumes import Past
from landfast.domain.rates import Meter, Rate
from landfast.domain.refused_since import Flow
from landfast.domain.switch import Switch

MINUTE = timedelta(minutes=1)

RECENT_MINUTES = 60
"""That rules look at by the minute; beyond them there are quarters of an hour."""


class Counted(NamedTuple):
    """What is counted together: a rate without its minute and its type."""

    meter: Meter
    source: str
    handler: str
    detail: str


Recent = Mapping[datetime, Mapping[Counted, int]]
"""By the minute."""


def by_minute(rates: Iterable[Rate]) -> dict[datetime, Counter[Counted]]:
    found: dict[datetime, Counter[Counted]] = {}
    for rate in rates:
        key = Counted(rate.meter, rate.source, rate.handler, rate.detail)
        found.setdefault(rate.minute, Counter())[key] += rate.count
    return found


@dataclass(frozen=True, slots=True)
class Pulse:
    """One process, as its last heartbeat told it."""

    role: str
    host: str
    seen_at: datetime
    spool_records: int = 0
    free_bytes: int | None = None
    """On the fullest disk that it writes to."""
    skew_seconds: float = 0.0
    """Its clock against the database's."""


@dataclass(frozen=True, slots=True)
class Observation:
    at: datetime
    recent: Recent = field(default_factory=dict)
    past: Past = Past()  # noqa: RUF009 - frozen
    pulses: Sequence[Pulse] = ()
    switches: Sequence[Switch] = ()
    heard: Mapping[str, datetime] = field(default_factory=dict)
    """By source: when something of it was last accepted."""
    causes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By source: why requests were refused in the last minutes, as far as the diagnosis of a sample knows."""
    untried_since: datetime | None = None
    """When the oldest ready event came in that nobody has tried yet."""

    def totals(self, minutes: int, *, ago: int = 0) -> Counter[Counted]:
        """Over so many minutes, the one that runs among them; `ago` leaves out as many of the last."""
        end = self.at.replace(second=0, microsecond=0) - ago * MINUTE
        found = Counter[Counted]()
        for minute, counts in self.recent.items():
            if end - minutes * MINUTE < minute <= end:
                found.update(counts)
        return found

    def by_source(self, minutes: int, *meters: Meter) -> Counter[str]:
        return _by(self.totals(minutes), 1, meters)

    def flows(self, source: str, accepted: Collection[Meter]) -> dict[datetime, Flow]:
        """What came of its requests, by the minute."""
        found: dict[datetime, Flow] = {}
        for minute, counts in self.recent.items():
            own = [(key.meter, count) for key, count in counts.items() if key.source == source]
            taken = sum(count for meter, count in own if meter in accepted)
            found[minute] = Flow(taken, sum(count for meter, count in own if meter is Meter.REJECTED))
        return found

    def by_handler(self, minutes: int, *meters: Meter) -> Counter[str]:
        found = _by(self.totals(minutes), 2, meters)
        del found[""]
        return found

    def details(self, minutes: int, meter: Meter, *, source: str | None = None, handler: str | None = None) -> str:
        """The most frequent details of it, for a sentence: `KeyError (12), TimeoutError (3)`."""
        found = Counter[str]()
        for key, count in self.totals(minutes).items():
            if key.meter is meter and source in (None, key.source) and handler in (None, key.handler) and key.detail:
                found[key.detail] += count
        return ", ".join(f"{detail} ({count:,})" for detail, count in found.most_common(DETAILS_SHOWN))


DETAILS_SHOWN = 3
"""Those that happen most: a fourth cause is rarely the cause."""


def _by(totals: Counter[Counted], field_: int, meters: tuple[Meter, ...]) -> Counter[str]:
    found = Counter[str]()
    for key, count in totals.items():
        if key.meter in meters:
            found[key[field_]] += count
    return found
