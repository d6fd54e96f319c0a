"""What the admin shows of events: all of it text that was made harmless, and nothing that could change one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from landfast.app import Inbox
from landfast.cli.output import body_text, safe, shown
from landfast.domain.errors import LandfastError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import receipt_digest
from landfast.domain.summary import EventRecord, EventSummary
from landfast.operations.cursor import cursor_text, read_cursor
from landfast.recovery.find import find_event

T = TypeVar("T")

ROWS = 50
COLUMNS = ("source", "type", "key", "state", "run", "received_at", "error")
FACTS = (
    *("source", "type", "key", "entity", "state", "reason", "run", "received_at", "occurred_at", "redelivered"),
    *("due_at", "handler", "error", "message", "erased_at", "body_expired_at"),
)


@dataclass(slots=True)
class Listing:
    query: str
    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    """Of each event its id and its cells."""
    following: str = ""
    problem: str = ""


@dataclass(slots=True)
class Page:
    facts: list[tuple[str, str]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    receipts: list[str] = field(default_factory=list)
    headers: str = ""
    body: str = ""
    problem: str = ""


def list_events(inbox: Inbox, query: str, after: str) -> Listing:
    listing = Listing(query)
    try:
        wanted = parse(query, now=datetime.now(UTC))
        found = _run(_find(inbox, wanted, after))
    except LandfastError as error:
        listing.problem = safe(str(error))
        return listing
    listing.rows = [(event.event_id.hex(), [_cell(event, name) for name in COLUMNS]) for event in found]
    listing.following = cursor_text(found[-1]) if len(found) == ROWS else ""
    return listing


def show_event(inbox: Inbox, name: str) -> Page | None:
    """None where there is no such event."""
    try:
        record = _run(_show(inbox, name))
    except LandfastError as error:
        return Page(problem=safe(str(error)))
    if record is None:
        return None
    page = Page(
        facts=[(fact, cell) for fact in FACTS if (cell := _cell(record.summary, fact)) not in {"", "None"}],
        history=list(_history(record)),
        headers=body_text(record.headers),
        body=body_text(record.body),
    )
    try:
        page.receipts = _run(_receipts(inbox, record.summary))
    except LandfastError as error:
        page.problem = safe(str(error))
    return page


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Admin pages are no coroutines, so Django calls them in a thread without a loop."""
    return asyncio.run(work)


async def _find(inbox: Inbox, wanted: Filter, after: str) -> Sequence[EventSummary]:
    async with inbox.archive() as archive:
        return await archive.find(wanted, limit=ROWS, after=read_cursor(after) if after else None)


async def _show(inbox: Inbox, name: str) -> EventRecord | None:
    async with inbox.archive() as archive:
        return await find_event(archive, name)


async def _receipts(inbox: Inbox, event: EventSummary) -> list[str]:
    async with inbox.stores() as stores:
        found = await stores.ledger.receipts([receipt_digest(stores.identity, event.source, event.key)])
    return [safe(f"{each.key.handler}, run {each.key.run}: {each.outcome}") for each in found]


def _cell(event: EventSummary, name: str) -> str:
    return safe(shown(getattr(event, name)))


def _history(record: EventRecord) -> Sequence[str]:
    lines = []
    for line in record.history:
        who = f" by {line.who}" if line.who else ""
        why = f" ({line.reason})" if line.reason else ""
        lines.append(safe(f"{shown(line.at)} run {line.run}: {line.signal}, then {line.state}{why}{who}"))
        for attempt in line.attempts:
            error = f", {attempt.error}: {attempt.message}" if attempt.error else ""
            lines.append(safe(f"    {attempt.handler} attempt {attempt.number}: {attempt.outcome}{error}"))
            lines += [f"        {safe(text)}" for text in attempt.trace.splitlines()]
    return lines
