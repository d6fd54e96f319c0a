"""What is going on: from rates, heartbeats and switches alone: it costs the same behind any number of events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Counted, Minutes
from landfast.domain.alerts.alert import Alert
from landfast.domain.rates import Heartbeat, Meter, Rate, Waiting, add_histograms, minute_of, quantile
from landfast.domain.switch import Switch
from landfast.operations.flow_status import HandlerStatus, SourceStatus
from landfast.operations.status import REJECTIONS_READ, Status, status_of

SERIES_MINUTES = 60
"""What a chart shows unless it is said: an hour."""


RECENT_SHARE = 0.75
"""Of a beat: each beat looks up anew, and what is asked for soon after it does not."""


class OverviewAsked(Asked):
    minutes: Minutes = SERIES_MINUTES


class FlowMinute(Answered):
    """What flowed in one minute."""

    minute: datetime
    received: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    done: int = 0
    failed: int = 0
    dead: int = 0
    ack_p50: float | None = None
    """Seconds, as the upper end of a bucket, as all quantiles here."""
    ack_p99: float | None = None


class Process(Answered):
    role: str
    host: str
    pid: int
    started_at: datetime
    seen_at: datetime
    is_alive: bool
    doing: Mapping[str, Any]


class Overview(Answered):
    at: datetime
    minutes: int
    total: FlowMinute
    """Over the whole window, which begins at its `minute`."""
    series: Sequence[FlowMinute]
    """Each minute of the window, the oldest first; one in which nothing flowed has zeros."""
    sources: Sequence[SourceStatus]
    source_series: Mapping[str, Sequence[int]]
    """Requests of each source, minute by minute, as in `series`."""
    handlers: Sequence[HandlerStatus]
    states: Mapping[str, Counted]
    oldest_ready: datetime | None
    waiting: Sequence[Waiting]
    breakers: Sequence[Switch]
    pauses: Sequence[Switch]
    processes: Sequence[Process]
    alerts: Sequence[Alert]
    dedup_share: float | None
    """Of what was accepted in the window: how much was known already."""
    spool_records: int


async def overview(desk: Desk, asked: OverviewAsked) -> Overview:
    """What is going on: rates, states, sources, handlers, processes and alerts."""
    return await _overview(desk, asked.minutes, seconds=0.0)


async def recent_overview(desk: Desk, asked: OverviewAsked) -> Overview:
    """The same for what is drawn again and again: as old as most of a beat, and looked up once for all of them."""
    return await _overview(desk, asked.minutes, seconds=desk.live.beat_seconds * RECENT_SHARE)


async def _overview(desk: Desk, minutes: int, *, seconds: float) -> Overview:
    now = desk.now()
    since = now - timedelta(minutes=minutes)
    standing = await desk.live.standing(desk.archive, seconds=seconds)
    rates = await desk.live.rates(desk.archive, since, seconds=seconds)
    rejections = await desk.archive.rejections(since=since, limit=REJECTIONS_READ)
    handlers = [handler.name for handler in desk.inbox.registry.handlers]
    sources = desk.inbox.sources
    seen = status_of(standing, rates, rejections, now=now, sources=sources, handlers=handlers, minutes=minutes)
    return overview_of(seen, rates)


def overview_of(seen: Status, rates: Sequence[Rate]) -> Overview:
    minutes = [minute_of(seen.at) - timedelta(minutes=ago) for ago in reversed(range(seen.minutes))]
    by_minute: defaultdict[datetime, list[Rate]] = defaultdict(list)
    by_source: defaultdict[str, defaultdict[datetime, int]] = defaultdict(lambda: defaultdict(int))
    for rate in rates:
        by_minute[rate.minute].append(rate)
        if rate.meter is Meter.RECEIVED:
            by_source[rate.source][rate.minute] += rate.count
    total = flow_of(minutes[0], rates)
    accepted = total.stored + total.duplicate
    return Overview(
        at=seen.at,
        minutes=seen.minutes,
        total=total,
        series=[flow_of(minute, by_minute[minute]) for minute in minutes],
        sources=seen.sources,
        source_series={one.name: [by_source[one.name][minute] for minute in minutes] for one in seen.sources},
        handlers=seen.handlers,
        states={state: Counted(number=count.number, is_more=count.is_more) for state, count in seen.states.items()},
        oldest_ready=seen.oldest_ready,
        waiting=seen.waiting,
        breakers=seen.breakers,
        pauses=seen.pauses,
        processes=[process_of(one) for one in seen.processes],
        alerts=seen.alerts,
        dedup_share=total.duplicate / accepted if accepted else None,
        spool_records=seen.spool_records,
    )


def flow_of(minute: datetime, rates: Iterable[Rate]) -> FlowMinute:
    counts: defaultdict[Meter, int] = defaultdict(int)
    acks: tuple[int, ...] = ()
    for rate in rates:
        counts[rate.meter] += rate.count
        if rate.meter is Meter.STORED:
            acks = add_histograms(acks, rate.histogram)
    return FlowMinute(
        minute=minute,
        received=counts[Meter.RECEIVED],
        stored=counts[Meter.STORED],
        duplicate=counts[Meter.DUPLICATE],
        rejected=counts[Meter.REJECTED],
        done=counts[Meter.DONE],
        failed=counts[Meter.FAILED],
        dead=counts[Meter.DEAD],
        ack_p50=quantile(acks, 0.5) if acks else None,
        ack_p99=quantile(acks, 0.99) if acks else None,
    )


def process_of(one: Heartbeat) -> Process:
    return Process(
        role=one.role,
        host=one.host,
        pid=one.pid,
        started_at=one.started_at,
        seen_at=one.seen_at,
        is_alive=one.is_alive,
        doing=one.doing,
    )
