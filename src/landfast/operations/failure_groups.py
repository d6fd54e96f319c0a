"""What fails alike, grouped: by source, error, handler and line of the user's code."""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse, terms_of
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.inbox import Archive

LOOKED_AT_MOST = 10_000
"""Events that are grouped, the newest ones: so it takes a moment with a million dead letters, too."""

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
    alike: defaultdict[tuple[str, ...], list[EventSummary]] = defaultdict(list)
    looked_at, cursor, is_all = 0, None, False
    while looked_at < at_most and not is_all:
        limit = min(PAGE_EVENTS, at_most - looked_at)
        page = await archive.find(wanted, limit=limit, after=cursor)
        for event in page:
            what = event.error, "" if event.error else event.reason
            alike[event.state, event.source, *what, event.handler, event.line].append(event)
        looked_at += len(page)
        is_all = len(page) < limit
        cursor = None if is_all else Cursor(page[-1].received_at, page[-1].event_id)
    is_all = is_all or not await archive.find(wanted, limit=1, after=cursor)
    return FailureGroups(_sorted(_group_of(events, wanted) for events in alike.values()), looked_at, is_all=is_all)


def _group_of(events: Sequence[EventSummary], wanted: Filter) -> FailureGroup:
    newest = max(events, key=_failed_at)
    narrowed = replace(
        wanted,
        source=newest.source,
        state=newest.state,
        error=newest.error or None,
        reason=None if newest.error else newest.reason or None,
        handler=newest.handler or None,
        line=newest.line or None,
    )
    return FailureGroup(
        state=newest.state,
        source=newest.source,
        error=newest.error or newest.reason,
        handler=newest.handler,
        line=newest.line,
        count=len(events),
        first=min(map(_failed_at, events)),
        last=_failed_at(newest),
        message=newest.message,
        newest=newest.event_id,
        wanted=narrowed,
    )


def _failed_at(event: EventSummary) -> datetime:
    return event.since or event.received_at


def _sorted(groups: Iterable[FailureGroup]) -> tuple[FailureGroup, ...]:
    return tuple(sorted(groups, key=lambda group: (-group.count, -group.last.timestamp())))
