"""What is going on, from rates, heartbeats and switches: it costs the same behind any number of done events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from landfast.domain.alerts.alert import Alert
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import LISTED, State
from landfast.domain.rates import Heartbeat, Latest, Meter, Rate, Rejection, Waiting
from landfast.domain.switch import Switch, SwitchKind
from landfast.operations.blocked import BlockedLanes, ParkedEvents, blocked_lanes, parked_events
from landfast.operations.flow_status import HandlerStatus, SourceStatus, handlers_of, sources_of, total
from landfast.ports.inbox import Inbox

WINDOW_MINUTES = 10
"""What a rate is the mean of: long enough for a sender that comes every few minutes, short enough that what was mended
is seen to be."""

COUNT_AT_MOST = 10_000
"""Counting further would cost the inbox more than the exact number is worth."""


REJECTIONS_READ = 1_000
"""Of a window: some stand for all when causes are counted."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many, counted no further than `COUNT_AT_MOST`."""

    number: int
    is_more: bool = False

    def __str__(self) -> str:
        return f"{self.number:,}{' or more' if self.is_more else ''}"


@dataclass(frozen=True, slots=True)
class Status:
    at: datetime
    minutes: int
    sources: Sequence[SourceStatus] = ()
    handlers: Sequence[HandlerStatus] = ()
    states: dict[State, Count] = field(default_factory=dict)
    waiting: Sequence[Waiting] = ()
    """Which flows have ready events, the one that waits the longest first."""
    breakers: Sequence[Switch] = ()
    pauses: Sequence[Switch] = ()
    processes: Sequence[Heartbeat] = ()
    unhandled: int = 0
    """In the window, as DEAD is."""
    dead: int = 0
    rejections: Sequence[Rejection] = ()
    """In the window, newest first."""
    alerts: Sequence[Alert] = ()
    """Those that are firing, the oldest first."""
    blocked: BlockedLanes = BlockedLanes()  # noqa: RUF009 - frozen
    parked: ParkedEvents = ParkedEvents()  # noqa: RUF009 - frozen

    @property
    def oldest_ready(self) -> datetime | None:
        return next((one.since for one in self.waiting if one.since is not None), None)

    def alive(self, role: str) -> list[Heartbeat]:
        return [one for one in self.processes if one.role == role and one.is_alive]

    @property
    def workers(self) -> list[Heartbeat]:
        """Those that take what comes; one for suspects alone does not."""
        return [one for one in self.alive("worker") if not one.doing.get("suspects_only")]

    @property
    def spool_records(self) -> int:
        return sum(int(one.doing.get("spool_records", 0)) for one in self.processes if one.is_alive)


@dataclass(frozen=True, slots=True)
class Standing:
    """What is the same whatever the window: where events are, what is off, and who is alive."""

    latest: Sequence[Latest]
    switches: Sequence[Switch]
    states: dict[State, Count]
    waiting: Sequence[Waiting]
    processes: Sequence[Heartbeat]
    alerts: Sequence[Alert]
    blocked: BlockedLanes
    parked: ParkedEvents


async def status(
    inbox: Inbox,
    *,
    now: datetime,
    sources: Collection[str] = (),
    handlers: Collection[str] = (),
    minutes: int = WINDOW_MINUTES,
) -> Status:
    """`sources` and `handlers` are those that are configured: they are named also where nothing flows."""
    since = now - timedelta(minutes=minutes)
    rates, rejections = await inbox.rates(since), await inbox.rejections(since=since, limit=REJECTIONS_READ)
    standing = await standing_of(inbox)
    return status_of(standing, rates, rejections, now=now, sources=sources, handlers=handlers, minutes=minutes)


def status_of(
    standing: Standing,
    rates: Sequence[Rate],
    rejections: Sequence[Rejection],
    *,
    now: datetime,
    sources: Collection[str],
    handlers: Collection[str],
    minutes: int,
) -> Status:
    """`rates` and `rejections` are those of the window."""
    return Status(
        at=now,
        minutes=minutes,
        sources=sources_of(rates, standing.latest, rejections, sources, now),
        handlers=handlers_of(rates, standing.latest, handlers, now),
        states=standing.states,
        waiting=standing.waiting,
        breakers=[one for one in standing.switches if one.kind is SwitchKind.BREAKER],
        pauses=[one for one in standing.switches if one.kind is not SwitchKind.BREAKER],
        processes=standing.processes,
        unhandled=total(rates, Meter.UNHANDLED),
        dead=total(rates, Meter.DEAD),
        rejections=rejections,
        alerts=standing.alerts,
        blocked=standing.blocked,
        parked=standing.parked,
    )


async def standing_of(inbox: Inbox) -> Standing:
    states = {state: await _count(inbox, state) for state in (State.READY, State.CLAIMED, *LISTED)}
    return Standing(
        latest=await inbox.latest_rates(),
        switches=await inbox.switches(),
        states={**states, State.UNHANDLED: Count(sum(one.count for one in await inbox.unhandled()))},
        waiting=await inbox.waiting(),
        processes=[one for one in await inbox.heartbeats() if one.role in ROLES],
        alerts=sorted(await inbox.firing(), key=lambda one: one.since),
        blocked=await blocked_lanes(inbox) if states[State.DEAD].number else BlockedLanes(),
        parked=await parked_events(inbox) if states[State.PARKED].number else ParkedEvents(),
    )


ROLES = ("intake", "worker", "drainer")


async def _count(inbox: Inbox, state: State) -> Count:
    number = await inbox.count(Filter(state=state), at_most=COUNT_AT_MOST)
    return Count(number, is_more=number >= COUNT_AT_MOST)
