"""`landfast status`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.text import Text

from landfast.app import Inbox
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import safe, say, say_json
from landfast.cli.status_screen import Disk, disks_of, drawn, say_status
from landfast.domain.errors import StoreError
from landfast.operations.status import WINDOW_MINUTES, Status
from landfast.operations.status import status as look
from landfast.ports.inbox import Inbox as OpenInbox

REDRAW_SECONDS = 1.5


@click.command()
@click.option("--watch", is_flag=True, help="Draw it again every second or two, until Ctrl-C.")
@click.option(
    "--minutes",
    type=click.IntRange(1, 1440),
    default=WINDOW_MINUTES,
    show_default=True,
    help="What the rates are the mean of.",
)
@app_option
@json_option
def status(*, watch: bool, minutes: int, app: str | None, as_json: bool) -> None:
    """What is going on: what comes in and what does not, what fails, what waits, and who is at work. All times are
    UTC."""
    inbox = find_inbox(app)
    if not watch:
        now = run(_look_once(inbox, minutes))
        _say(now, as_json=as_json)
        return
    try:
        run(_watch(inbox, minutes, as_json=as_json))
    except KeyboardInterrupt:
        return


async def _look_once(inbox: Inbox, minutes: int) -> Status:
    async with inbox.archive() as archive:
        return await _look(inbox, archive, minutes)


async def _look(inbox: Inbox, archive: OpenInbox, minutes: int) -> Status:
    handlers = [handler.name for handler in inbox.registry.handlers]
    return await look(archive, now=inbox.clock.now(), sources=inbox.sources, handlers=handlers, minutes=minutes)


async def _watch(inbox: Inbox, minutes: int, *, as_json: bool) -> None:
    console = Console()
    async with inbox.archive() as archive:
        if as_json or not console.is_terminal:
            while True:
                _say(await _look(inbox, archive, minutes), as_json=as_json)
                sys.stdout.flush()
                await asyncio.sleep(REDRAW_SECONDS)
        with Live(Text("..."), console=console, auto_refresh=False, screen=True) as live:
            while True:
                try:
                    shown = drawn(await _look(inbox, archive, minutes))
                except StoreError as error:  # it may be back at the next look
                    shown = Text(safe(str(error)), style="bold red")
                live.update(shown, refresh=True)
                await asyncio.sleep(REDRAW_SECONDS)


def _say(now: Status, *, as_json: bool) -> None:
    if as_json:
        say_json(fields(now))
        return
    console = Console()
    if console.is_terminal:
        console.print(drawn(now))
    else:
        say_status(now)
        say()


def fields(now: Status) -> dict[str, Any]:
    """For machines: the same facts, in seconds and ISO times. A p50 or p95 of more than 30 s is null, as where nothing
    ran: the counts beside it tell which."""
    return {
        "at": now.at,
        "minutes": now.minutes,
        "alerts": [{**asdict(one), "label": one.label} for one in now.alerts],
        "sources": [{**asdict(one), "only_refusals": one.has_only_refusals} for one in now.sources],
        "handlers": [{**asdict(one), "failing": round(one.failing, 4)} for one in now.handlers],
        "states": {state: {"count": count.number, "or_more": count.is_more} for state, count in now.states.items()},
        "oldest_ready": now.oldest_ready,
        "waiting": [one._asdict() for one in now.waiting],
        "breakers": [asdict(one) for one in now.breakers],
        "pauses": [asdict(one) for one in now.pauses],
        "processes": [{**asdict(one), "is_alive": one.is_alive} for one in now.processes],
        "lanes_blocked": {
            "count": now.blocked.count,
            "or_more": now.blocked.is_more,
            "queued": now.blocked.waiting,
            "oldest": now.blocked.oldest,
            "handlers": now.blocked.handlers,
        },
        "parked": asdict(now.parked),
        "dead": now.dead,
        "unhandled": now.unhandled,
        "spool_records": now.spool_records,
        "disks": [disk._asdict() for disk in disks_of(now)],
    }


__all__ = ["Disk", "fields", "status"]
