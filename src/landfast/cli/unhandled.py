"""`landfast unhandled`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from landfast.app import Inbox
from landfast.app.sources import wants_of
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import say, say_json, say_table
from landfast.domain.unhandled import UnhandledCount

HINT = """\
A worker that registers a handler for a type takes its events up by itself. For types that nobody wants, write under the
source in landfast.toml ignore = ["TYPE", ...], or unhandled = "done" for all of them."""


@click.command()
@app_option
@json_option
def unhandled(*, app: str | None, as_json: bool) -> None:
    """How many events of each source and type wait for a handler, most first."""
    inbox = find_inbox(app)
    counts = sorted(run(_counts(inbox)), key=lambda one: (-one.count, one.source, one.type))
    if as_json:
        say_json({"unhandled": [asdict(one) for one in counts]})
        return
    if not counts:
        say("nothing is unhandled")
        return
    say_table(("events", "source", "type", "then"), [_row(inbox, one) for one in counts], whole=("events", "source"))
    say(f"\n{HINT}")


async def _counts(inbox: Inbox) -> Sequence[UnhandledCount]:
    async with inbox.archive() as archive:
        return await archive.unhandled()


def _row(inbox: Inbox, one: UnhandledCount) -> list[object]:
    """With what becomes of them by the settings as they are now: a worker takes up what is not kept."""
    settings = inbox.sources.get(one.source)
    if settings is None:
        return [f"{one.count:,}", one.source, one.type, "waits; there is no such source any more"]
    wants = wants_of(settings)
    then = "done, ignored" if wants.ignores(one.type) else {"keep": "waits"}.get(wants.unhandled, str(wants.unhandled))
    return [f"{one.count:,}", one.source, one.type, then]
