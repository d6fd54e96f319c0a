"""What fails alike, grouped: by source, error, handler and line of the user's code."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse, terms_of
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.inbox import Archive

LOOKED_AT_MOST = 10_000
"""Events that are grouped, the newest ones: so it takes half a second with a million dead letters, too."""

PAGE_EVENTS = 1_000

COMMANDS = {State.DEAD: "replay", State.DELAYED: "retry"}
"""What is done about those of a state, once the cause is mended."""


@dataclass(frozen=True, slots=True)
class FailureGroup:
    state: State
    source: str
    error: str
    """The error's class, or the reason where nothing was raised."""
    handler: str
    """Empty where none was at fault."""
    line: str
    """Of the user's code: `shop.py:14`. Empty where nothing was raised there."""
    count: int
    first: datetime
    last: datetime
    """When they died, or failed last."""
    message: str
    """Of the newest."""
    newest: EventId
    wanted: Filter
    """That finds them again."""

    @property
    def command(self) -> str:
        """What does something about all of them, to be typed."""
        return shlex.join(["landfast", COMMANDS[self.state], *terms_of(self.wanted)])


@dataclass(frozen=True, slots=True)
class FailureGroups:
    groups: tuple[FailureGroup, ...]
    """Most first."""
    looked_at: int
    is_all: bool
    """False where more failed than were looked at."""


def dead_ones(text: str, *, now: datetime, command: str) -> Filter:
    """A filter as an operator means it who asks for dead letters."""
    found = parse(text, now=now)
    if found.state not in (None, State.DEAD):
        raise UserError(
            f"{command}: state:{found.state} are no dead letters; leave state out, or use landfast events list"
        )
    return replace(found, state=State.DEAD)


def delayed_ones(text: str, *, now: datetime, command: str) -> Filter:
    """The same of events that are tried again by themselves."""
    found = parse(text, now=now)
    if found.state not in (None, State.DELAYED):
        raise UserError(f"{command}: state:{found.state} do not wait for their next try; leave state out")
    return replace(found, state=State.DELAYED)


async def failure_groups(archive: Archive, wanted: Filter, *, at_most: int = LOOKED_AT_MOST) -> FailureGroups:
    """Of those that match, in a state that something can be done about."""
    found: dict[Filter, FailureGroup] = {}
    looked_at, cursor = 0, None
    while looked_at < at_most:
        limit = min(PAGE_EVENTS, at_most - looked_at)
        page = await archive.find(wanted, limit=limit, after=cursor)
        for event in page:
            one = _group_of(event, wanted)
            found[one.wanted] = _joined(found[one.wanted], one) if one.wanted in found else one
        looked_at += len(page)
        if len(page) < limit:
            return FailureGroups(_sorted(found.values()), looked_at, is_all=True)
        cursor = Cursor(page[-1].received_at, page[-1].event_id)
    is_all = not await archive.find(wanted, limit=1, after=cursor)
    return FailureGroups(_sorted(found.values()), looked_at, is_all=is_all)


def _group_of(event: EventSummary, wanted: Filter) -> FailureGroup:
    at = event.since or event.received_at
    narrowed = replace(
        wanted,
        source=event.source,
        state=event.state,
        error=event.error or None,
        reason=None if event.error else event.reason or None,
        handler=event.handler or None,
        line=event.line or None,
    )
    return FailureGroup(
        state=event.state,
        source=event.source,
        error=event.error or event.reason,
        handler=event.handler,
        line=event.line,
        count=1,
        first=at,
        last=at,
        message=event.message,
        newest=event.event_id,
        wanted=narrowed,
    )


def _joined(one: FailureGroup, other: FailureGroup) -> FailureGroup:
    newest = other if other.last > one.last else one
    first, last = min(one.first, other.first), max(one.last, other.last)
    count = one.count + other.count
    return replace(one, count=count, first=first, last=last, message=newest.message, newest=newest.newest)


def _sorted(groups: Iterable[FailureGroup]) -> tuple[FailureGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-group.count, -group.last.timestamp())))
