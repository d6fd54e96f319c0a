"""`landfast held list|add|admit|discard`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm_many
from landfast.cli.events import CUT, Page, cells, find_events
from landfast.cli.groups import ListsByDefault
from landfast.cli.no_event import NoEventError
from landfast.cli.options import (
    ROWS,
    app_option,
    find_inbox,
    json_option,
    note_unknown_source,
    operator,
    run,
    why_option,
)
from landfast.cli.output import say, say_json, say_table
from landfast.domain.filter import Filter, joined
from landfast.domain.lifecycle import State
from landfast.operations import one_event as operations
from landfast.recovery import held as recovery
from landfast.recovery.find import find_event
from landfast.recovery.held import BECAUSE, Decision

HEADINGS = ("id", "source", "type", "key", "occurred", "received", "reason")
SPARE = ("type", "source", "received")
"""Left out of a narrow terminal, in this order: which event it is, how old and why decide."""
DONE = {Decision.ADMIT: "admitted", Decision.DISCARD: "discarded"}


@click.group(cls=ListsByDefault)
def held() -> None:
    """Events that were stored and are not processed: they came too late, with another body under a known key or a known
    proof, or under another type that nobody signed; or somebody holds them."""


@held.command("list")
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on from the cursor that the last page ended with.")
@app_option
@json_option
def list_(*, terms: tuple[str, ...], limit: int, after: str | None, app: str | None, as_json: bool) -> None:
    """Held events that match, newest first, and why: source:stripe since:2h"""
    wanted = recovery.wanted(joined(terms), now=datetime.now(UTC))
    if found := find_events(find_inbox(app), wanted, Page(limit, after), as_json=as_json):
        rows = [cells(event) | {"occurred": event.occurred_at} for event in found]
        say_table(HEADINGS, [[row[heading] for heading in HEADINGS] for row in rows], cut=CUT, spare=SPARE)
        for reason in sorted({event.reason for event in found} & BECAUSE.keys()):
            say(f"{reason}: {BECAUSE[reason]}")


@held.command()
@click.argument("event")
@click.option("--why", required=True, help="For whoever decides about it, and for the operator log.")
@app_option
@json_option
def add(*, event: str, why: str, app: str | None, as_json: bool) -> int:
    """Hold an event that waits, by its id, key or SOURCE/KEY: it is not processed until somebody admits or discards it.
    Later events of its entity go on. Exits with 1 if a worker has it in hand, or it is decided already."""
    found, is_held = run(_hold(find_inbox(app), event, why))
    if found is None:
        raise NoEventError(event)
    text = "held; decide with landfast held admit, or landfast held discard"
    _say(
        {"held": int(is_held), "state": found},
        text if is_held else f"it is {found}, and does not wait; landfast events show says what became of it",
        as_json=as_json,
    )
    return 0 if is_held else NEGATIVE


@held.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@app_option
@json_option
def admit(*, what: tuple[str, ...], dry_run: bool, yes: bool, why: str, app: str | None, as_json: bool) -> int:
    """Process held events as any other: one by its id, key or SOURCE/KEY, or all that match a filter. One that was
    processed before and forgotten is processed a second time, so look first."""
    return _decide(Decision.ADMIT, what, why, dry=dry_run, yes=yes, app=app, as_json=as_json)


@held.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@app_option
@json_option
def discard(*, what: tuple[str, ...], dry_run: bool, yes: bool, why: str, app: str | None, as_json: bool) -> int:
    """Make held events dead letters: one by its id, key or SOURCE/KEY, or all that match a filter. They stay stored,
    and landfast replay can still run them."""
    return _decide(Decision.DISCARD, what, why, dry=dry_run, yes=yes, app=app, as_json=as_json)


def _decide(
    decision: Decision, what: tuple[str, ...], why: str, *, dry: bool, yes: bool, app: str | None, as_json: bool
) -> int:
    inbox = find_inbox(app)
    if len(what) == 1 and ":" not in what[0]:
        return _one(inbox, decision, what[0], why, dry=dry, as_json=as_json)
    chosen = recovery.wanted(joined(what), now=datetime.now(UTC))
    note_unknown_source(inbox, chosen)
    count = run(_count(inbox, chosen))
    if dry:
        _say({f"would_{decision}": count}, f"{count:,} would be {DONE[decision]}", as_json=as_json)
        return 0
    if count and not yes:
        meant = "Process them" if decision is Decision.ADMIT else "Make them dead"
        confirm_many(f"held {decision}", count, "held", verb=decision, meant=meant)
    decided = run(_decide_all(inbox, chosen, decision, why, asked=joined(what))) if count else 0
    _say({DONE[decision]: decided}, f"{decided:,} {DONE[decision]}", as_json=as_json)
    return 0


def _one(inbox: Inbox, decision: Decision, name: str, why: str, *, dry: bool, as_json: bool) -> int:
    found, decided = run(_decide_one(inbox, decision, name, why, dry=dry))
    if found is None:
        raise NoEventError(name, see="held list")
    if dry:
        would = int(found is State.HELD)
        text = f"it is {found}; {would} would be {DONE[decision]}"
        _say({f"would_{decision}": would, "state": found}, text, as_json=as_json)
        return 0
    text = DONE[decision] if decided else f"it is {found}, not held"
    _say({DONE[decision]: int(decided), "state": found}, text, as_json=as_json)
    return 0 if decided else NEGATIVE


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await recovery.count(archive, chosen)


async def _decide_all(inbox: Inbox, chosen: Filter, decision: Decision, why: str, *, asked: str) -> int:
    async with inbox.archive() as archive:
        return await operations.decide_all(archive, chosen, decision, who=operator(), why=why, asked=asked)


async def _decide_one(inbox: Inbox, decision: Decision, name: str, why: str, *, dry: bool) -> tuple[State | None, bool]:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None, False
        event = record.summary
        if dry:
            return event.state, False
        return event.state, await operations.decide_one(archive, event, decision, who=operator(), why=why)


async def _hold(inbox: Inbox, name: str, why: str) -> tuple[State | None, bool]:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None, False
        event = record.summary
        return event.state, await operations.hold(archive, event, who=operator(), why=why)


def _say(fields: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        say_json(fields)
    else:
        say(text)
