"""`landfast events list|show|export|import|save-test`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import click

from landfast.app import Inbox
from landfast.cli.events_export import export, import_
from landfast.cli.events_graph import show_graph
from landfast.cli.events_ledger import ledger_side, say_ledger_side
from landfast.cli.events_save_test import save_test
from landfast.cli.groups import ListsByDefault
from landfast.cli.lane_text import lane_fields, say_lane
from landfast.cli.no_event import NoEventError
from landfast.cli.options import (
    ROWS,
    app_option,
    find_inbox,
    json_option,
    note_unknown_source,
    oldest_first_option,
    run,
)
from landfast.cli.output import (
    body_text,
    duration,
    safe,
    say,
    say_json,
    say_pairs,
    say_table,
)
from landfast.cli.parked_text import say_parked, why
from landfast.cli.reveal import record_to_show, reveal_option, summaries_to_show
from landfast.domain.erasure import ERASED
from landfast.domain.filter import Filter, joined, parse
from landfast.domain.lifecycle import State
from landfast.domain.machine import shown_reason
from landfast.domain.outcome import NO_WRITES, Attempt
from landfast.domain.summary import EventRecord, EventSummary, InLane
from landfast.operations.cursor import cursor_text, read_cursor
from landfast.operations.readable import body_fields, json_or_text
from landfast.recovery.find import find_event
from landfast.recovery.held import BECAUSE
from landfast.recovery.schedule import Schedule, schedules

CUT = {"id": 13, "type": 32}
"""Characters in a terminal. The beginning of an id is enough for every command."""
HEADINGS = ("id", "source", "type", "key", "state", "run", "received", "again", "why")
WHOLE = ("id", "source", "state", "received")
UNWRITTEN = "; it never used its transaction, so what it wrote elsewhere may happen twice"
SPARE = ("again", "run", "key")
"""Left out of a narrow terminal, in this order."""


@click.group(cls=ListsByDefault)
def events() -> None:
    """List events, show one with its history, or take some to another inbox or into a test."""


events.add_command(export)
events.add_command(import_)
events.add_command(save_test)


@events.command("list")
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on from the cursor that the last page ended with.")
@oldest_first_option
@app_option
@json_option
def list_(
    *, terms: tuple[str, ...], limit: int, after: str | None, oldest_first: bool, app: str | None, as_json: bool
) -> None:
    """Events that match, newest first: source:stripe type:invoice.* state:dead since:2h"""
    wanted = parse(joined(terms), now=datetime.now(UTC))
    page = Page(limit, after, oldest_first)
    if found := find_events(find_inbox(app), wanted, page, as_json=as_json):
        rows = [[row[heading] for heading in HEADINGS] for row in map(cells, found)]
        say_table(HEADINGS, rows, cut=CUT, whole=WHOLE, spare=SPARE)


@events.command()
@click.argument("event")
@click.option("--graph", is_flag=True, help="Only the graph of its effects: which follows which, and their states.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw that graph into this file.")
@reveal_option
@app_option
@json_option
def show(*, event: str, graph: bool, svg: Path | None, reveal: bool, app: str | None, as_json: bool) -> int:
    """One event, by its id or the first 6 digits of it or more, its key, or SOURCE/KEY."""
    inbox = find_inbox(app)
    record = run(_find(inbox, event))
    if record is None:
        raise NoEventError(event)
    if graph or svg:
        return show_graph(inbox, record.summary, svg=svg, as_json=as_json)
    record = record_to_show(record, inbox, reveal=reveal)
    lane = run(_in_lane(inbox, record))
    ledger = run(ledger_side(inbox, record.summary, reveal=reveal))
    if as_json:
        say_json(_record_fields(record) | lane_fields(lane) | ledger)
    else:
        _say_record(record, lane, ledger, inbox)
    return 0


class Page(NamedTuple):
    """Which part of a listing."""

    limit: int
    after: str | None
    oldest_first: bool = False


def find_events(inbox: Inbox, wanted: Filter, page: Page, *, as_json: bool) -> Sequence[EventSummary]:
    """The events to be put into a table; none when they were printed as JSON, or nothing matches."""
    note_unknown_source(inbox, wanted)
    found = summaries_to_show(run(_list(inbox, wanted, page)), inbox)
    following = cursor_text(found[-1]) if len(found) == page.limit else None
    if as_json:
        say_json({"events": [summary_fields(event) for event in found], "next": following})
        return ()
    if not found:
        say("no event matches")
    if following:
        click.echo(f"more: --after {following}", err=True)
    return found


def cells(event: EventSummary) -> dict[str, Any]:
    """What a table may show of an event, by heading."""
    return summary_fields(event) | {
        "received": event.received_at,
        "again": event.redelivered,
        "why": ERASED if event.erased_at else why(event),
    }


def summary_fields(event: EventSummary) -> dict[str, Any]:
    fields = asdict(event) | {"reason": shown_reason(event.reason)}
    if event.state is State.PARKED:
        fields["due_at"] = None  # a look of the worker's own; what it waits for is its entity
    return {"id": fields.pop("event_id").hex(), **fields}


async def _list(inbox: Inbox, wanted: Filter, page: Page) -> list[EventSummary]:
    after = read_cursor(page.after) if page.after else None
    async with inbox.archive() as archive:
        return list(await archive.find(wanted, limit=page.limit, after=after, oldest_first=page.oldest_first))


async def _find(inbox: Inbox, name: str) -> EventRecord | None:
    async with inbox.archive() as archive:
        return await find_event(archive, name)


async def _in_lane(inbox: Inbox, record: EventRecord) -> InLane | None:
    async with inbox.archive() as archive:
        return await archive.in_lane(record.summary.event_id)


def _record_fields(record: EventRecord) -> dict[str, Any]:
    return {
        **summary_fields(record.summary),
        "headers": json_or_text(record.headers),
        **body_fields(record.body),
        "in_hand": asdict(record.in_hand) if record.in_hand else None,
        "schedule": [asdict(one) for one in schedules(record)],
        "came_again": list(record.came_again),
        "history": [asdict(line) | {"reason": shown_reason(line.reason)} for line in record.history],
    }


def schedule_text(one: Schedule, *, now: datetime) -> str:
    """`next try in 12 min, 9 left, gives up by Thursday 04:10 UTC`."""
    if one.next_try_at is None:
        told = [f"tried {one.attempts_made} times"]
    else:
        wait = (one.next_try_at - now).total_seconds()
        told = [f"next try in {duration(wait)}" if wait >= 1 else "next try now"]
    if one.attempts_left is not None:
        told.append(f"{one.attempts_left} left")
    if one.gives_up_at is not None:
        is_soon = one.gives_up_at - now < timedelta(days=6)
        told.append(f"gives up by {one.gives_up_at:{'%A %H:%M' if is_soon else '%Y-%m-%d %H:%M'}} UTC")
    return ", ".join(told)


def _say_record(record: EventRecord, lane: InLane | None, ledger: dict[str, Any], inbox: Inbox) -> None:
    now = inbox.clock.now()
    say_pairs(summary_fields(record.summary))
    say_lane(record.summary, lane)
    say_parked(record, inbox.registry.machines, now=now)
    if record.summary.state is State.HELD:
        say(f"held: {BECAUSE.get(record.summary.reason, 'an operator decides')}")
        name = record.summary.event_id.hex()
        say(f"decide: landfast held admit {name}, or landfast held discard {name}")
    if record.in_hand is not None:
        since = f" since {record.in_hand.since:%Y-%m-%d %H:%M:%SZ}" if record.in_hand.since else ""
        say(f"in the hands of worker {record.in_hand.worker}{since}")
    for one in schedules(record):
        say(f"{safe(one.handler)}: {schedule_text(one, now=now)}")
    say("\nhistory")
    for line in record.history:
        who = f" by {safe(line.who)}" if line.who else ""
        reason = f" ({safe(shown_reason(line.reason))})" if line.reason else ""
        say(f"  {line.at:%Y-%m-%d %H:%M:%SZ}  run {line.run}  {line.signal} -> {line.state}{reason}{who}")
        for attempt in line.attempts:
            _say_attempt(attempt)
    say_ledger_side(ledger)
    say("\nbody")
    say(_body(record))


def _body(record: EventRecord) -> str:
    event = record.summary
    if event.erased_at is not None:
        return f"(erased at {event.erased_at:%Y-%m-%d %H:%M:%SZ})"
    if event.body_expired_at is not None:
        return f"(headers and body expired on {event.body_expired_at:%Y-%m-%d})"
    return body_text(record.body)


def _say_attempt(attempt: Attempt) -> None:
    if not attempt.handler and not attempt.number:  # an operator's reason, and no attempt of anybody
        say(f"    why: {safe(attempt.message)}")
        return
    error = f"  {safe(attempt.error)}: {safe(attempt.message)}" if attempt.error else ""
    is_unwritten = attempt.outcome == NO_WRITES
    outcome, more = ("done", UNWRITTEN) if is_unwritten else (safe(attempt.outcome), error)
    took = f"{attempt.milliseconds:.0f} ms{', late' if attempt.is_late else ''}"
    say(f"    {safe(attempt.handler)} attempt {attempt.number}: {outcome}, {took}{more}")
    for text in attempt.trace.splitlines():
        say(f"      {safe(text)}")
