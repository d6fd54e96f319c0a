"""`landfast lanes list|skip`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import ListsByDefault
from landfast.cli.no_event import NoEventError
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import duration, say, say_json, say_table
from landfast.domain.lifecycle import State
from landfast.domain.summary import WaitingLane
from landfast.operations import one_event
from landfast.recovery.find import find_event

HEADINGS = ("source", "entity", "waiting", "event", "state", "for", "handler", "why")
CUT = {"event": 13}
SPARE = ("handler", "source")
"""Left out of a narrow terminal, in this order: which entity waits, and for which event, decide."""


@click.group(cls=ListsByDefault)
def lanes() -> None:
    """Entities whose events wait for an earlier one: which, for what, and have one go on without it."""


@lanes.command("list")
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@app_option
@json_option
def list_(*, limit: int, app: str | None, as_json: bool) -> int:
    """Entities whose events wait, those first in which the most do: for which event, in which state, since when. Exits
    with 1 while a dead letter blocks one of them."""
    inbox = find_inbox(app)
    found = run(_lanes(inbox, limit))
    if as_json:
        say_json({"lanes": [_fields(lane) for lane in found]})
    elif not found:
        say("no lane waits")
    else:
        rows = [_cells(lane, now=inbox.clock.now()) for lane in found]
        say_table(HEADINGS, [[row[heading] for heading in HEADINGS] for row in rows], cut=CUT, spare=SPARE)
        if any(lane.state is State.DEAD for lane in found):
            say(
                "what is dead blocks: landfast replay EVENT runs it again, landfast lanes skip EVENT goes on without it"
            )
    return NEGATIVE if any(lane.state is State.DEAD for lane in found) else 0


@lanes.command()
@click.argument("event")
@why_option
@app_option
@json_option
def skip(*, event: str, why: str, app: str | None, as_json: bool) -> int:
    """Have the entity of a dead letter go on without it: by its id, key or SOURCE/KEY. It stays dead, and landfast
    replay can still run it, late."""
    found, skipped = run(_skip(find_inbox(app), event, why))
    if found is None:
        raise NoEventError(event, see="lanes list")
    if as_json:
        say_json({"skipped": int(skipped), "state": found})
    else:
        say("its lane goes on without it" if skipped else _why_not(found))
    return 0 if skipped else NEGATIVE


def _why_not(state: State) -> str:
    if state is State.DONE:
        return "it is done: its lane has gone on already, and there is nothing to skip"
    return f"it is {state}, not dead: only a dead letter can be skipped"


async def _lanes(inbox: Inbox, limit: int) -> Sequence[WaitingLane]:
    async with inbox.archive() as archive:
        return await archive.lanes(limit=limit)


async def _skip(inbox: Inbox, name: str, why: str) -> tuple[State | None, bool]:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None, False
        event = record.summary
        return event.state, await one_event.skip(archive, event, who=operator(), why=why)


def _fields(lane: WaitingLane) -> dict[str, Any]:
    fields = asdict(lane)
    return {"event": fields.pop("event_id").hex(), **fields}


def _cells(lane: WaitingLane, *, now: datetime) -> dict[str, Any]:
    since = "" if lane.since is None else duration((now - lane.since).total_seconds())
    return _fields(lane) | {"for": since, "why": lane.error or lane.reason}
