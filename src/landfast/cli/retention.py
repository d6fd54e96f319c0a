"""`landfast retention run|show`."""

from __future__ import annotations

import time
from contextlib import AsyncExitStack
from typing import Any

import click

from landfast.app import Inbox
from landfast.app.ballast import FullDisk
from landfast.cli import INTERRUPTED, NEGATIVE
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, operator, run, without_app
from landfast.cli.output import counted, duration, safe, say, say_json, say_table
from landfast.cli.retention_unbind import unbind
from landfast.config.retention import age_of
from landfast.domain.errors import StoreError, UserError
from landfast.domain.lifecycle import State
from landfast.domain.rates import Meter
from landfast.domain.retention import FOREVER, Ages, Counts, LastPass, Retention
from landfast.operations.retention import Pass, preview, run_pass
from landfast.ports.inbox import Inbox as OpenInbox

PROGRESS_SECONDS = 2.0
"""Seconds between two lines of progress."""

BUSY = "another pass is under way, on this machine or another; see landfast retention show"
UNPROVEN = "done without their receipts, so they stay, and so does what became done after them; see landfast proof"
HEADINGS = ("source", "state", "bodies", "events")


@click.group(cls=Commands)
def retention() -> None:
    """Show how long things are kept, or remove now what is old enough. Workers do so by themselves, every few hours."""


retention.add_command(unbind)


@retention.command("run")
@click.option("--dry-run", is_flag=True, help="Only count what would be removed.")
@click.option("--now", is_flag=True, help="The disk is full: do not wait for another pass, and use the ballast.")
@click.option("--bodies", metavar="AGE", help="This once, keep bodies of done events no longer than this: 7d, or 12h.")
@app_option
@json_option
def run_(*, dry_run: bool, now: bool, bodies: str | None, app: str | None, as_json: bool) -> int:
    """Remove what is old enough, in both databases: bodies first, then the rest of an event, receipts last. Nothing
    unfinished is ever removed. Ctrl-C stops it after the step that it is in; the next pass goes on there."""
    inbox = find_inbox(app)
    kept = inbox.retention if bodies is None else inbox.retention.with_bodies(age_of(bodies, "--bodies"))
    if dry_run:
        found = run(_preview(inbox, kept, app))
        if as_json:
            say_json({"would_remove": _counts_fields(found)})
        else:
            _say_counts(found, "nothing is old enough")
        return 0
    progress = _Progress()
    try:
        made = run(_run(inbox, kept, progress, app, is_urgent=now))
    except KeyboardInterrupt:
        _say_pass(progress.last, as_json=as_json)
        return INTERRUPTED
    if made is None:
        click.echo(f"landfast: {BUSY}", err=True)
        return NEGATIVE
    _say_pass(made, as_json=as_json)
    return NEGATIVE if made.unproven else 0


@retention.command()
@app_option
@json_option
def show(*, app: str | None, as_json: bool) -> None:
    """How long everything is kept, by source, and when the last pass was."""
    inbox = find_inbox(app)
    kept = inbox.retention
    last = run(_last_pass(inbox))
    rows = {"(others)": kept.default, **kept.sources} if kept.sources else {"(all)": kept.default}
    if as_json:
        fields = {name: {key: _seconds(value) for key, value in _columns(ages).items()} for name, ages in rows.items()}
        say_json({"ages": fields, "receipts": _seconds(kept.receipts), "last_pass": _last_fields(last)})
        return
    headings = ("source", *_columns(kept.default))
    say_table(headings, [[name, *map(_age, _columns(ages).values())] for name, ages in rows.items()])
    say(f"receipts are kept for {_age(kept.receipts)}; what is unfinished, for as long as it is")
    say(_last_text(last))


async def _preview(inbox: Inbox, kept: Retention, app: str | None) -> Counts:
    async with inbox.archive() as archive:
        await _refuse_to_guess(archive, inbox, app)
        return await preview(archive, kept)


async def _refuse_to_guess(archive: OpenInbox, inbox: Inbox, app: str | None) -> None:
    """What the code says of a source, that its dead letters are kept for ever, say, is not known where none is read."""
    hint = without_app(app)
    if hint:
        heard = {one.source for one in await archive.latest_rates() if one.meter is Meter.STORED}
        if unknown := sorted(heard - {*inbox.sources, ""}):
            names = ", ".join(map(safe, unknown))
            raise UserError(
                f"retention: how long {names} is kept is not in landfast.toml, and may be in your code{hint}"
            )


async def _last_pass(inbox: Inbox) -> LastPass:
    async with inbox.archive() as archive:
        return await archive.last_pass()


async def _run(inbox: Inbox, kept: Retention, progress: _Progress, app: str | None, *, is_urgent: bool) -> Pass | None:
    disk = FullDisk(inbox.settings) if is_urgent else None
    if disk is not None and disk.release():
        click.echo("the disk is full: the ballast makes room for what has to be written", err=True)
    try:
        async with inbox.stores() as stores:
            await _refuse_to_guess(stores.inbox, inbox, app)
            async with AsyncExitStack() as alone:
                if disk is not None:
                    await alone.enter_async_context(disk.around(stores.inbox))
                return await run_pass(
                    stores.inbox,
                    stores.ledger,
                    kept,
                    identity=stores.identity,
                    clock=inbox.clock,
                    chance=inbox.chance,
                    who=operator(),
                    is_urgent=is_urgent,
                    # What the ledger forgets makes no room in the inbox, and a large one takes long: senders come in.
                    before_ledger=alone.aclose,
                    report=progress.show,
                )
    except StoreError as error:
        if disk is not None and disk.lacks_ballast:
            fix = "there is no ballast: make a few megabytes of room by other means, then run this again"
            raise UserError(f"{error}; {fix}") from error
        raise
    finally:
        if disk is not None and not disk.lay():
            click.echo("landfast: there is no room for the ballast yet; the next pass lays it", err=True)


class _Progress:
    """On stderr, every few seconds."""

    def __init__(self) -> None:
        self.last = Pass()
        self._shown_at = time.monotonic()

    def show(self, made: Pass) -> None:
        self.last = made
        if time.monotonic() - self._shown_at >= PROGRESS_SECONDS:
            self._shown_at = time.monotonic()
            total = made.total
            told = f"looked at {made.looked_at:,}, removed {counted(total.events)}, {_bodies(total.bodies)}"
            click.echo(f"{told}; {made.last}", err=True)


def _say_pass(made: Pass, *, as_json: bool) -> None:
    if as_json:
        say_json(
            {
                "removed": _counts_fields(made.counts),
                "receipts": made.receipts,
                "effects": made.effects,
                "bytes_freed": made.bytes_freed,
                "looked_at": made.looked_at,
                "held_back": made.held_back,
                "unproven": made.unproven,
                "left": made.left,
                "complete": made.is_complete,
            }
        )
        return
    _say_counts(made.counts, "nothing was old enough")
    total = made.total
    freed = f", {made.bytes_freed / 2**20:,.0f} MB given back" if made.bytes_freed else ""
    also = f"{counted(made.receipts, 'receipt')} and {counted(made.effects, 'effect')}"
    say(f"removed {counted(total.events)} and {_bodies(total.bodies)}, {also}{freed}")
    for text in made.left:
        say(safe(text))
    if made.held_back:
        say(f"{counted(made.held_back)} not proven yet, so {'it stays' if made.held_back == 1 else 'they stay'}")
    if made.unproven:
        say(f"{counted(made.unproven)} {UNPROVEN}")
    if not made.is_complete:
        say("stopped; the next pass goes on from here")


def _say_counts(counts: Counts, nothing: str) -> None:
    if not counts:
        say(nothing)
        return
    rows = [[source, state, f"{one.bodies:,}", f"{one.events:,}"] for (source, state), one in _sorted(counts)]
    say_table(HEADINGS, rows)


def _counts_fields(counts: Counts) -> list[dict[str, Any]]:
    return [
        {"source": source, "state": state, "bodies": one.bodies, "events": one.events}
        for (source, state), one in _sorted(counts)
    ]


def _sorted(counts: Counts) -> Any:
    return sorted(counts.items(), key=lambda item: item[0])


def _bodies(count: int) -> str:
    return f"{count:,} {'body' if count == 1 else 'bodies'}"


def _columns(ages: Ages) -> dict[str, float]:
    return {
        "bodies": ages.bodies,
        "dead": ages.dead,
        "unhandled": ages.row(State.UNHANDLED),
        "dedup memory": ages.memory,
        "history": ages.row(State.DONE),
    }


def _age(seconds: float) -> str:
    return "for ever" if seconds == FOREVER else duration(seconds)


def _seconds(seconds: float) -> float | None:
    return None if seconds == FOREVER else seconds


def _last_fields(last: LastPass) -> dict[str, Any]:
    return {"began_at": last.began_at, "ended_at": last.ended_at, "running": last.is_running, "oldest": last.oldest}


def _last_text(last: LastPass) -> str:
    oldest = f"; the oldest whole event came {last.oldest:%Y-%m-%d}" if last.oldest else ""
    if last.is_running and last.began_at:
        return f"a pass is under way since {last.began_at:%Y-%m-%d %H:%M} UTC{oldest}"
    if last.ended_at is None:
        return f"no pass has come to its end yet{oldest}"
    return f"the last pass ended {last.ended_at:%Y-%m-%d %H:%M} UTC{oldest}"
