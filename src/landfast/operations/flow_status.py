"""What came of the requests to each source, and of the runs of each handler, as rates tell it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from landfast.domain.rates import Latest, Meter, Rate, Rejection, add_histograms, minute_of, quantile
from landfast.domain.refusal_causes import UNVERIFIED
from landfast.domain.refused_since import Flow, RefusedSince, refused_since

LATELY = timedelta(minutes=2)
"""Of which the running minute is one."""

REFUSALS_AT_LEAST = 3
"""Of a source that takes nothing in: fewer may be a stranger's."""

ACCEPTED = frozenset({Meter.STORED, Meter.DUPLICATE})


@dataclass(frozen=True, slots=True)
class SourceStatus:
    name: str
    """Empty for requests that named no source of ours."""
    received: int = 0
    """Of all these: in the window."""
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    causes: Sequence[tuple[str, int]] = ()
    """Why, the commonest first."""
    ack_p95: float | None = None
    """Seconds, as the upper end of a bucket."""
    last_accepted: datetime | None = None
    last_rejected: datetime | None = None
    refused_since: RefusedSince | None = None
    """Where it took requests in, and does not any more."""

    @property
    def accepted(self) -> int:
        return self.stored + self.duplicate

    @property
    def has_only_refusals(self) -> bool:
        is_refusing = self.rejected > 0 and (self.accepted == 0 or self.refused_since is not None)
        return bool(self.name) and is_refusing


@dataclass(frozen=True, slots=True)
class HandlerStatus:
    name: str
    sources: Sequence[str] = ()
    done: int = 0
    failed: int = 0
    dead: int = 0
    errors: Sequence[tuple[str, int]] = ()
    """Classes of the errors that its runs failed with, the commonest first."""
    p50: float | None = None
    p95: float | None = None
    last_done: datetime | None = None
    last_failed: datetime | None = None
    lately_done: int = 0
    """In the last two minutes, as the next one is."""
    lately_failed: int = 0

    @property
    def is_well_again(self) -> bool:
        """It failed before, and what it ran in the last two minutes was done."""
        return self.lately_done > 0 and self.lately_failed == 0

    @property
    def failing(self) -> float:
        """The share of its runs that failed."""
        runs = self.done + self.failed
        return self.failed / runs if runs else 0.0


def sources_of(
    rates: Sequence[Rate],
    latest: Sequence[Latest],
    rejections: Sequence[Rejection],
    configured: Collection[str],
    now: datetime,
) -> list[SourceStatus]:
    named = {rate.source for rate in rates if rate.meter in (Meter.RECEIVED, Meter.REJECTED, *ACCEPTED)}
    return [
        SourceStatus(
            name=name,
            received=total(of, Meter.RECEIVED),
            stored=total(of, Meter.STORED),
            duplicate=total(of, Meter.DUPLICATE),
            rejected=total(of, Meter.REJECTED),
            causes=_causes(of, [one for one in rejections if one.source == name]),
            ack_p95=_quantile(of, Meter.STORED, 0.95),
            last_accepted=_last(latest, ACCEPTED, source=name),
            last_rejected=_last(latest, {Meter.REJECTED}, source=name),
            refused_since=refused_since(_flows(of), now, at_least=REFUSALS_AT_LEAST),
        )
        for name in sorted({*named, *configured})
        for of in [[rate for rate in rates if rate.source == name]]
    ]


def _flows(rates: Iterable[Rate]) -> dict[datetime, Flow]:
    found: defaultdict[datetime, Flow] = defaultdict(Flow)
    for rate in rates:
        accepted, refused = found[rate.minute]
        if rate.meter in ACCEPTED:
            found[rate.minute] = Flow(accepted + rate.count, refused)
        elif rate.meter is Meter.REJECTED:
            found[rate.minute] = Flow(accepted, refused + rate.count)
    return found


def _causes(rates: Iterable[Rate], sampled: Iterable[Rejection]) -> list[tuple[str, int]]:
    """Every refusal has a cause. Of those with a wrong signature some were looked into; what was found stands for all
    of them, in the shares that the sample has."""
    causes = Counter[str]()
    for rate in rates:
        if rate.meter is Meter.REJECTED:
            causes[rate.detail] += rate.count
    explained = Counter[str]()
    for one in sampled:
        if one.cause not in causes:
            explained[one.cause] += one.count
    if causes[UNVERIFIED] and explained:
        whole = causes.pop(UNVERIFIED)
        for cause, count in explained.items():
            causes[cause] += max(1, round(whole * count / explained.total()))
    return (+causes).most_common()


def handlers_of(
    rates: Sequence[Rate], latest: Sequence[Latest], configured: Collection[str], now: datetime
) -> list[HandlerStatus]:
    late = minute_of(now) - LATELY
    by_handler: defaultdict[str, list[Rate]] = defaultdict(list)
    for rate in rates:
        if rate.handler:
            by_handler[rate.handler].append(rate)
    return [
        HandlerStatus(
            name=name,
            sources=sorted({rate.source for rate in of}),
            done=total(of, Meter.DONE),
            failed=total(of, Meter.FAILED),
            dead=total(of, Meter.DEAD),
            errors=_details(of, Meter.FAILED),
            p50=_quantile(of, Meter.DONE, 0.5),
            p95=_quantile(of, Meter.DONE, 0.95),
            last_done=_last(latest, {Meter.DONE}, handler=name),
            last_failed=_last(latest, {Meter.FAILED}, handler=name),
            lately_done=total(lately, Meter.DONE),
            lately_failed=total(lately, Meter.FAILED),
        )
        for name in sorted({*by_handler, *configured})
        for of in [by_handler[name]]
        for lately in [[rate for rate in of if rate.minute > late]]
    ]


def total(rates: Iterable[Rate], meter: Meter) -> int:
    return sum(rate.count for rate in rates if rate.meter is meter)


def _details(rates: Iterable[Rate], meter: Meter) -> list[tuple[str, int]]:
    found = Counter[str]()
    for rate in rates:
        if rate.meter is meter:
            found[rate.detail] += rate.count
    return found.most_common()


def _quantile(rates: Iterable[Rate], meter: Meter, share: float) -> float | None:
    histogram: tuple[int, ...] = ()
    for rate in rates:
        if rate.meter is meter:
            histogram = add_histograms(histogram, rate.histogram)
    return quantile(histogram, share) if histogram else None


def _last(
    latest: Iterable[Latest], meters: Collection[Meter], *, source: str | None = None, handler: str | None = None
) -> datetime | None:
    return max(
        (
            one.at
            for one in latest
            if one.meter in meters
            and (source is None or one.source == source)
            and (handler is None or one.handler == handler)
        ),
        default=None,
    )
