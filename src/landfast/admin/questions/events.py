"""Events that match a filter, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from landfast.admin.desk import Desk
from landfast.admin.parameters import ROWS, Answered, Asked, CursorText, FilterText, Rows
from landfast.domain.filter import Filter, parse
from landfast.domain.summary import EventSummary
from landfast.operations import search
from landfast.operations.cursor import cursor_text, read_cursor
from landfast.recovery.redacted import redacted_summary

COUNT_AT_MOST = 10_000
"""As on the overview: "10,000 or more" decides as much as the exact number does."""


class EventsAsked(Asked):
    filter: FilterText = ""
    limit: Rows = ROWS
    after: CursorText = ""
    oldest_first: bool = False


class EventRow(Answered):
    """One event of a listing."""

    id: str
    source: str
    key: str
    type: str
    entity: str | None
    state: str
    run: int
    received_at: datetime
    occurred_at: datetime | None = None
    reason: str = ""
    error: str = ""
    message: str = ""
    handler: str = ""
    line: str = ""
    since: datetime | None = None
    """Since when it waits, or is dead."""
    due_at: datetime | None = None
    redelivered: int = 0
    erased_at: datetime | None = None
    body_expired_at: datetime | None = None


class EventsPage(Answered):
    events: Sequence[EventRow]
    next: str | None
    """The cursor to go on with; None at the end."""
    searched: int | None
    """The filter matches so little that only so many events were looked at, the newest ones: `next` goes on behind
    them. None where all were."""
    back_to: datetime | None
    """When the last of those arrived."""


class EventCount(Answered):
    number: int
    is_more: bool
    """Whether there are more than that."""
    searched: int | None
    """Counted among so many of the newest events; None where among all."""


class CountAsked(Asked):
    filter: FilterText = ""


async def events(desk: Desk, asked: EventsAsked) -> EventsPage:
    """Events that match a filter, newest first, page by page."""
    return await page_of(desk, desk.shown(parse(asked.filter, now=desk.now())), asked)


async def count(desk: Desk, asked: CountAsked) -> EventCount:
    """How many events match a filter, as far as it is worth counting."""
    wanted = desk.shown(parse(asked.filter, now=desk.now()))
    found = await search.count(desk.archive, wanted, at_most=COUNT_AT_MOST, clock=desk.inbox.clock)
    is_more = found.number >= COUNT_AT_MOST
    return EventCount(number=found.number, is_more=is_more, searched=None if is_more else found.searched)


async def page_of(desk: Desk, wanted: Filter, asked: EventsAsked) -> EventsPage:
    after = read_cursor(asked.after) if asked.after else None
    found = await search.search(
        desk.archive,
        wanted,
        limit=asked.limit,
        after=after,
        oldest_first=asked.oldest_first,
        clock=desk.inbox.clock,
    )
    return EventsPage(
        events=rows_of(desk, found.events),
        next=None if found.cursor is None else cursor_text(found.cursor),
        searched=found.searched,
        back_to=found.back_to,
    )


def rows_of(desk: Desk, events: Sequence[EventSummary]) -> list[EventRow]:
    """Without what is hidden."""
    return [row_of(redacted_summary(event, desk.redaction)) for event in events]


def row_of(shown: EventSummary) -> EventRow:
    return EventRow(
        id=shown.event_id.hex(),
        source=shown.source,
        key=shown.key,
        type=shown.type,
        entity=shown.entity,
        state=shown.state,
        run=shown.run,
        received_at=shown.received_at,
        occurred_at=shown.occurred_at,
        reason=shown.reason,
        error=shown.error,
        message=shown.message,
        handler=shown.handler,
        line=shown.line,
        since=shown.since,
        due_at=shown.due_at,
        redelivered=shown.redelivered,
        erased_at=shown.erased_at,
        body_expired_at=shown.body_expired_at,
    )
