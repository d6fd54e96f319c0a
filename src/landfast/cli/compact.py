"""`landfast compact`."""

from __future__ import annotations

import time

import click

from landfast.app import Inbox
from landfast.cli.options import app_option, find_inbox, json_option, operator, run
from landfast.cli.output import say, say_json
from landfast.domain.operator_log import Action
from landfast.domain.room import Compacted, Room
from landfast.operations.operator_log import audited

PROGRESS_SECONDS = 2.0
"""Seconds between two lines of progress."""


@click.command()
@click.option("--dry-run", is_flag=True, help="Only say how much there is to give back.")
@app_option
@json_option
def compact(*, dry_run: bool, app: str | None, as_json: bool) -> None:
    """Write a SQLite inbox anew, without what is free in it, and give that back to the disk. From then on it gives back
    by itself. Nobody can write to the inbox meanwhile: intake spools, or answers 503 and senders come again. Ctrl-C
    leaves it as it was."""
    room, done = run(_compact(find_inbox(app), dry=dry_run))
    if as_json:
        given = {} if done is None else {"given_back": done.given_back, "bytes": done.after}
        say_json({"bytes": room.used, "free_inside": room.free_inside, **given})
    elif done is None:
        say(f"{room.free_inside / 1e6:,.1f} of {room.used / 1e6:,.1f} MB can be given back")
    else:
        say(f"{done.given_back / 1e6:,.1f} MB given back; the inbox takes {done.after / 1e6:,.1f} MB")


async def _compact(inbox: Inbox, *, dry: bool) -> tuple[Room, Compacted | None]:
    async with inbox.archive() as archive:
        room = await archive.room()
        if dry:
            return room, None
        async with audited(archive, Action.COMPACT, who=operator()) as log:
            done = await archive.compact(report=Progress().show)
            log.note(given_back=done.given_back)
        return room, done


class Progress:
    """On stderr, every few seconds."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()

    def show(self, done: int, of: int) -> None:
        if time.monotonic() - self._shown_at >= PROGRESS_SECONDS:
            self._shown_at = time.monotonic()
            click.echo(f"{done / 1e6:,.0f} of about {of / 1e6:,.0f} MB written", err=True)
