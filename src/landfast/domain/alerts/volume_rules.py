"""Rules about how much there is: too much, too little, nothing, again and again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from statistics import median

from landfast.domain.alerts.alert import AlertName, Finding, Severity
from landfast.domain.alerts.flow_rules import ACCEPTED
from landfast.domain.alerts.observation import RECENT_MINUTES, Counted, Observation
from landfast.domain.alerts.thresholds import Thresholds
from landfast.domain.alerts.volumes import (
    CLOCK_CHANGE,
    DAY_QUARTERS,
    QUARTER,
    WEEK,
    WEEKS_AT_LEAST,
    WEEKS_LOOKED_AT,
    Basis,
    Usual,
)
from landfast.domain.rates import Meter

FAR = 8.0
"""Spreads above the middle: chance alone does not go there, even where events come in bunches."""

FAR_BELOW = 5.0
"""Spreads below it. A source of a few events an hour never is: its spread reaches down to nothing."""

ABOVE_THE_MOST = 1.5
"""Times what the busiest quarter of a usual week brings."""

STORM_SHARE = 0.8
"""Of a source's deliveries that are duplicates in a storm; a sender that repeats everything once has half."""

MISSED_DUPLICATES = 15
"""So many should have come by chance alone before none means anything: one in three million."""

LAST_LAYER = "inbox"
"""That knows every duplicate, whatever the caches know."""

MISSED_EVENTS = 10
"""That earlier weeks had in the time that a source has been silent for."""

NIGHT = timedelta(hours=5)
"""A stretch that is as long may have a change of clocks in it: they are changed while their people sleep."""

QUIET_DAY_HOURS = 12
"""Of a source's history before the last day alone says that it is silent."""

QUIET_DAY_EVENTS = 50
"""In the last day, for the same."""

LONGER_THAN_EVER = 3
"""Times the longest pause of the last day."""


def volume_high(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    for meter, counts in _fifteen_minutes(seen).items():
        for name, count in counts.items():
            usual, is_high = _is_above(count, seen.past.usuals(meter, name, seen.at), limits)
            if usual is None or not is_high:
                continue
            did = (
                f"{name} is done with {count:,} events" if meter is Meter.DONE else f"{count:,} events came from {name}"
            )
            look = f"source:{name}" if meter is Meter.STORED else "state:done"
            yield Finding(
                AlertName.VOLUME_HIGH,
                name,
                Severity.ERROR,
                f"{did} in 15 minutes; {usual.middle:,.0f} are usual {usual.basis}.",
                f"if nobody planned it, stop it first: landfast pause {name}; then look: landfast events list {look}"
                " since:15m",
                {"events": count, "usual": usual.middle, "minutes": 15, "of": str(meter)},
            )


def volume_low(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    now = _fifteen_minutes(seen)
    for meter in now:
        for name in seen.past.names(meter):
            usuals, count = seen.past.usuals(meter, name, seen.at), now[meter][name]
            if not usuals or usuals[0].basis is not Basis.WEEKS or (meter is Meter.STORED and not count):
                continue  # a source without any is silent, which is another alert
            if any(count >= _lower(each, limits) for each in usuals):
                continue
            usual = usuals[0]
            did = f"{name} is done with" if meter is Meter.DONE else f"{name} sent"
            yield Finding(
                AlertName.VOLUME_LOW,
                name,
                Severity.WARNING,
                f"{did} {count:,} events in 15 minutes; {usual.middle:,.0f} are usual {usual.basis}.",
                "landfast status shows what waits and fails; look at the sender's own list of deliveries, too",
                {"events": count, "usual": usual.middle, "minutes": 15, "of": str(meter)},
            )


def duplicate_storm(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    again, stored = seen.by_source(15, Meter.DUPLICATE), seen.by_source(15, Meter.STORED)
    for source, count in again.items():
        if count < limits.duplicates_at_least or count < STORM_SHARE * (count + stored[source]):
            continue
        usual, is_high = _is_above(count, seen.past.usuals(Meter.DUPLICATE, source, seen.at), limits)
        if usual is not None and not is_high:
            continue
        yield Finding(
            AlertName.DUPLICATE_STORM,
            source,
            Severity.WARNING,
            f"{count:,} of {count + stored[source]:,} deliveries from {source} in 15 minutes were duplicates;"
            " each was answered 200 and processed no second time.",
            f"landfast events list source:{source} shows which came again; tell the sender, or write key_rate"
            f" under [sources.{source}]",
            {"duplicate": count, "stored": stored[source], "minutes": 15, "usual": usual.middle if usual else ""},
        )


def duplicates_gone(seen: Observation, limits: Thresholds) -> Iterator[Finding]:  # noqa: ARG001 - as all rules
    again, stored = seen.by_source(RECENT_MINUTES, Meter.DUPLICATE), seen.by_source(RECENT_MINUTES, Meter.STORED)
    for source, count in stored.items():
        before = seen.past.usual(Meter.DUPLICATE, source, seen.at)
        base = seen.past.usual(Meter.STORED, source, seen.at)
        if again[source] or before is None or base is None or not base.middle:
            continue
        expected = count * before.middle / base.middle
        if expected >= MISSED_DUPLICATES:
            yield Finding(
                AlertName.DUPLICATES_GONE,
                source,
                Severity.ERROR,
                f"{source} sent {count:,} new events in an hour and not one duplicate; about {expected:,.0f} would be"
                f" usual {before.basis}.",
                "if duplicates are taken for new events, they are processed twice: landfast doctor, and look whether"
                " the sender's id, or dedup, has changed",
                {"duplicate": 0, "expected": round(expected)},
            )
    yield from _caches_gone(seen)


def _caches_gone(seen: Observation) -> Iterator[Finding]:
    """A cache that knew duplicates until a moment ago, while now only the inbox does. The other way round is well."""
    now, before = _by_layer(seen.totals(15)), _by_layer(seen.totals(RECENT_MINUTES - 15, ago=15))
    for (source, layer), count in before.items():
        found = now[source, LAST_LAYER]
        expected = found * count / (count + before[source, LAST_LAYER])
        if layer != LAST_LAYER and not now[source, layer] and expected >= MISSED_DUPLICATES:
            yield Finding(
                AlertName.DUPLICATES_GONE,
                source,
                Severity.WARNING,
                f"The layer {layer} knows no duplicate of {source} any more; the inbox found {found:,} in 15 minutes.",
                "landfast doctor looks at the cache; until it is back, the inbox knows every duplicate, only slower",
                {"layer": layer, "inbox": found},
            )


def _by_layer(totals: Counter[Counted]) -> Counter[tuple[str, str]]:
    found = Counter[tuple[str, str]]()
    for key, count in totals.items():
        if key.meter is Meter.DUPLICATE and key.detail:
            found[key.source, key.detail] += count
    return found


def source_silent(seen: Observation, limits: Thresholds) -> Iterator[Finding]:
    for source, heard in sorted(seen.heard.items()):
        silent = (seen.at - heard).total_seconds()
        since = max(heard, seen.at - DAY_QUARTERS * QUARTER)  # one that is silent for longer was told long ago
        if silent < limits.silent_seconds:
            continue
        told = _missed_in_weeks(seen, source, since)
        if told is None:
            told = _missed_in_a_day(seen, source, since)
        if told:
            yield Finding(
                AlertName.SOURCE_SILENT,
                source,
                Severity.ERROR,
                f"Nothing came from {source} for {_span(silent)}; {told}.",
                f"landfast rejected list; then the sender's own list of deliveries: does it still call /in/{source}?",
                {"seconds": round(silent)},
            )


def _missed_in_weeks(seen: Observation, source: str, since: datetime) -> str | None:
    """A clause if it should have sent something; empty if not; None where too few weeks are known."""
    here, *moved = (_came_in_weeks(seen, source, *stretch) for stretch in _by_any_clock(since, seen.at))
    if here is None:
        return None
    # Half of it is enough by another clock: an hour less of a rare source is not its night.
    is_missed = here >= MISSED_EVENTS and all(one is None or one >= min(MISSED_EVENTS, here / 2) for one in moved)
    return f"{here:,.0f} events are usual in that time of the week" if is_missed else ""


def _by_any_clock(since: datetime, until: datetime) -> Iterator[tuple[datetime, datetime]]:
    """The stretch by clocks that nobody has changed, and by those of a sender whose day is now earlier or later."""
    yield since, until
    yield since + CLOCK_CHANGE, until + CLOCK_CHANGE
    # Its clocks may have been set back in this very night: then it fell silent by the old ones.
    is_night = until - CLOCK_CHANGE - since >= NIGHT
    yield since if is_night else since - CLOCK_CHANGE, until - CLOCK_CHANGE


def _came_in_weeks(seen: Observation, source: str, since: datetime, until: datetime) -> float | None:
    """As a rule, in that time of earlier weeks; None where too few are known."""
    weeks = [
        count
        for week in range(1, WEEKS_LOOKED_AT + 1)
        if (count := seen.past.between(ACCEPTED, source, since - week * WEEK, until - week * WEEK)) is not None
    ]
    if len(weeks) < WEEKS_AT_LEAST:
        return None
    # One earlier week without any, a holiday say, and this may be another.
    return median(weeks) if min(weeks) else 0.0


def _missed_in_a_day(seen: Observation, source: str, since: datetime) -> str:
    own = [seen.past.counts.get((meter, source), {}) for meter in ACCEPTED]
    day = seen.at - DAY_QUARTERS * QUARTER
    sent = sorted({quarter for counts in own for quarter, count in counts.items() if count and quarter >= day})
    total = sum(counts.get(quarter, 0) for counts in own for quarter in sent)
    if not sent or total < QUIET_DAY_EVENTS or since - sent[0] < timedelta(hours=QUIET_DAY_HOURS):
        return ""
    pauses = [later - earlier - QUARTER for earlier, later in pairwise(sent)]
    longest = max([QUARTER, *pauses])
    if seen.at - since <= max(4 * QUARTER, LONGER_THAN_EVER * longest):
        return ""
    return f"in the last day it never paused for longer than {_span(longest.total_seconds())}"


def _fifteen_minutes(seen: Observation) -> dict[Meter, Counter[str]]:
    return {Meter.STORED: seen.by_source(15, Meter.STORED), Meter.DONE: seen.by_handler(15, Meter.DONE)}


def _is_above(count: int, usuals: Sequence[Usual], limits: Thresholds) -> tuple[Usual | None, bool]:
    """What is usual now, and whether so many are too many by each of them."""
    return next(iter(usuals), None), all(count > _upper(each, limits) for each in usuals)


def _lower(usual: Usual, limits: Thresholds) -> float:
    return min(usual.middle / limits.volume_times, usual.middle - FAR_BELOW * usual.spread)


def _upper(usual: Usual, limits: Thresholds) -> float:
    times = ABOVE_THE_MOST if usual.basis is Basis.WEEKS else limits.volume_times
    return max(
        limits.volume_at_least,
        limits.volume_times * usual.middle,
        times * usual.most,
        usual.middle + FAR * usual.spread,
    )


def _span(seconds: float) -> str:
    return f"{seconds / 3600:,.1f} hours" if seconds >= 2 * 3600 else f"{seconds / 60:,.0f} minutes"
