"""`landfast events list|show`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.cursor import cursor_text, read_cursor
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, note_unknown_source, run
from landfast.cli.output import (
    body_fields,
    body_text,
    duration,
    json_or_text,
    safe,
    say,
    say_json,
    say_pairs,
    say_table,
)
from landfast.domain.erasure import ERASED
from landfast.domain.errors import LandfastError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord, EventSummary
from landfast.recovery.find import find_event
from landfast.recovery.held import BECAUSE
from landfast.recovery.schedule import Schedule, schedules

EFFECTS_SHOWN = 100
JSON = ("arguments", "context")
"""Columns of an effect that hold JSON."""
CUT = {"id": 13, "type": 32}
"""Characters in a terminal. The beginning of an id is enough for every command."""
HEADINGS = ("id", "source", "type", "key", "state", "run", "received", "again", "why")
WHOLE = ("id", "source", "state", "received")
SPARE = ("again", "run", "key")
"""Left out of a narrow terminal, in this order."""


@click.group()
def events() -> None:
    """List events, or show one with its history."""


@events.command("list")
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on from the cursor that the last page ended with.")
@app_option
@json_option
def list_(*, terms: tuple[str, ...], limit: int, after: str | None, app: str | None, as_json: bool) -> None:
    """Events that match, newest first: source:stripe type:invoice.* state:dead since:2h"""
    wanted = parse(" ".join(terms), now=datetime.now(UTC))
    list_events(find_inbox(app), wanted, limit=limit, after=after, as_json=as_json)


@events.command()
@click.argument("event")
@app_option
@json_option
def show(*, event: str, app: str | None, as_json: bool) -> int:
    """One event, by its id or the first 6 digits of it or more, its key, or SOURCE/KEY."""
    inbox = find_inbox(app)
    record = run(_find(inbox, event))
    if record is None:
        click.echo(f"landfast: no event {safe(event)!r}; see landfast events list", err=True)
        return NEGATIVE
    ledger = run(_ledger_side(inbox, record))
    if as_json:
        say_json(_record_fields(record) | ledger)
    else:
        _say_record(record, ledger, now=inbox.clock.now())
    return 0


def list_events(inbox: Inbox, wanted: Filter, *, limit: int, after: str | None, as_json: bool) -> None:
    if found := find_events(inbox, wanted, limit=limit, after=after, as_json=as_json):
        rows = [[row[heading] for heading in HEADINGS] for row in map(cells, found)]
        say_table(HEADINGS, rows, cut=CUT, whole=WHOLE, spare=SPARE)


def find_events(
    inbox: Inbox, wanted: Filter, *, limit: int, after: str | None, as_json: bool
) -> Sequence[EventSummary]:
    """The events to be put into a table; none when they were printed as JSON, or nothing matches."""
    note_unknown_source(inbox, wanted)
    found = run(_list(inbox, wanted, limit, after))
    following = cursor_text(found[-1]) if len(found) == limit else None
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
        "why": ERASED if event.erased_at else event.error or event.reason,
    }


def summary_fields(event: EventSummary) -> dict[str, Any]:
    fields = asdict(event)
    return {"id": fields.pop("event_id").hex(), **fields}


async def _list(inbox: Inbox, wanted: Filter, limit: int, after: str | None) -> list[EventSummary]:
    async with inbox.archive() as archive:
        return list(await archive.find(wanted, limit=limit, after=read_cursor(after) if after else None))


async def _find(inbox: Inbox, name: str) -> EventRecord | None:
    async with inbox.archive() as archive:
        return await find_event(archive, name)


async def _ledger_side(inbox: Inbox, record: EventRecord) -> dict[str, Any]:
    """Receipts and effects. The inbox's side is worth showing without them, so a ledger that is away is only noted."""
    event = record.summary
    try:
        async with inbox.stores() as stores:
            digest = receipt_digest(stores.identity, event.source, event.key)
            receipts = await stores.ledger.receipts([digest])
            effects = await stores.ledger.list(digest=digest, limit=EFFECTS_SHOWN)
    except LandfastError as error:
        return {"ledger": str(error)}
    return {
        "receipts": [
            {
                "handler": receipt.key.handler,
                "run": receipt.key.run,
                "outcome": receipt.outcome,
                "result": json_or_text(receipt.result) if receipt.result else None,
            }
            for receipt in receipts
        ],
        "effects": [
            {
                name: json_or_text(value.encode() if isinstance(value, str) else value) if name in JSON else value
                for name, value in row.items()
            }
            for row in effects
        ],
    }


def _record_fields(record: EventRecord) -> dict[str, Any]:
    return {
        **summary_fields(record.summary),
        "headers": json_or_text(record.headers),
        **body_fields(record.body),
        "in_hand": asdict(record.in_hand) if record.in_hand else None,
        "schedule": [asdict(one) for one in schedules(record)],
        "history": [asdict(line) for line in record.history],
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


def _say_record(record: EventRecord, ledger: dict[str, Any], *, now: datetime) -> None:
    say_pairs(summary_fields(record.summary))
    if record.summary.state is State.HELD:
        say(f"held: {BECAUSE.get(record.summary.reason, 'an operator decides')}")
        name = record.summary.event_id.hex()
        say(f"decide: landfast held admit {name}, or landfast held discard {name}")
    if record.in_hand is not None:
        since = f" since {record.in_hand.since:%Y-%m-%d %H:%M:%S}" if record.in_hand.since else ""
        say(f"in the hands of worker {record.in_hand.worker}{since}")
    for one in schedules(record):
        say(f"{safe(one.handler)}: {schedule_text(one, now=now)}")
    say("\nhistory")
    for line in record.history:
        who = f" by {safe(line.who)}" if line.who else ""
        reason = f" ({safe(line.reason)})" if line.reason else ""
        say(f"  {line.at:%Y-%m-%d %H:%M:%S}  run {line.run}  {line.signal} -> {line.state}{reason}{who}")
        for attempt in line.attempts:
            error = f"  {safe(attempt.error)}: {safe(attempt.message)}" if attempt.error else ""
            took = f"{attempt.milliseconds:.0f} ms"
            say(f"    {safe(attempt.handler)} attempt {attempt.number}: {safe(attempt.outcome)}, {took}{error}")
            for text in attempt.trace.splitlines():
                say(f"      {safe(text)}")
    for receipt in ledger.get("receipts", ()):
        say(f"receipt  {safe(receipt['handler'])} run {receipt['run']}: {receipt['outcome']}")
    for effect in ledger.get("effects", ()):
        say(f"effect   {safe(str(effect['name']))} run {effect['run']}: {effect['state']}  key {effect['key']}")
    if "ledger" in ledger:
        say(f"ledger   not shown: {safe(ledger['ledger'])}")
    say("\nbody")
    erased_at = record.summary.erased_at
    say(body_text(record.body) if erased_at is None else f"(erased at {erased_at:%Y-%m-%d %H:%M:%S})")
