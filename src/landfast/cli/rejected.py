"""`landfast rejected list`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from landfast.app import Inbox
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, note_unknown_source, run
from landfast.cli.output import safe, say, say_json, say_table
from landfast.domain.filter import Filter
from landfast.domain.rates import REJECTIONS_KEPT, Rejection
from landfast.domain.refusal_causes import fix_of

HEADINGS = ("at", "source", "path", "address", "cause", "status", "count", "headers")
CUT = {"headers": 60, "path": 40}


@click.group(cls=ListsByDefault)
def rejected() -> None:
    """Requests that were refused: a sample, one line for each minute, source, cause and address. Nothing of them was
    proven, so no body is kept, and of the headers only the names."""


@rejected.command("list")
@click.option("--source", metavar="SOURCE", help="Only those that named this source.")
@click.option("--limit", type=click.IntRange(1, REJECTIONS_KEPT), default=ROWS, show_default=True)
@app_option
@json_option
def list_(*, source: str | None, limit: int, app: str | None, as_json: bool) -> None:
    """When, where to, from which address and why, newest first, with what to do about it. Times are UTC."""
    inbox = find_inbox(app)
    note_unknown_source(inbox, Filter(source=source))
    found = run(_rejections(inbox, source, limit))
    if as_json:
        say_json({"rejected": [asdict(one) for one in found]})
        return
    if not found:
        say("nothing was refused" + (f" of {safe(source)}" if source else ""))
        return
    rows = [[getattr(one, heading) for heading in HEADINGS[:-1]] + [" ".join(one.headers)] for one in found]
    say_table(HEADINGS, rows, cut=CUT, whole=("at", "cause", "count"), spare=("headers", "status", "path"))
    for cause in dict.fromkeys(one.cause for one in found):
        say(f"{safe(cause)}: {fix_of(cause)}")


async def _rejections(inbox: Inbox, source: str | None, limit: int) -> Sequence[Rejection]:
    async with inbox.archive() as archive:
        return await archive.rejections(source=source, limit=limit)
