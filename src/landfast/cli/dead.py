"""`landfast dead list|show`."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.events import CUT, cells, find_events
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, run
from landfast.cli.output import body_fields, body_text, json_or_text, safe, say, say_json, say_pairs, say_table
from landfast.domain.errors import UserError
from landfast.domain.filter import parse
from landfast.domain.lifecycle import State
from landfast.recovery.dead_letters import DeadLetter, dead_letter
from landfast.recovery.find import find_event

HEADINGS = ("id", "source", "type", "key", "run", "received", "handler", "why", "message")
SPARE = ("run", "key", "received", "source", "handler")
"""Left out of a narrow terminal, in this order: what to do about it is in the message."""


@click.group()
def dead() -> None:
    """List dead letters, or show one with everything known about it."""


@dead.command("list")
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on from the cursor that the last page ended with.")
@app_option
@json_option
def list_(*, terms: tuple[str, ...], limit: int, after: str | None, app: str | None, as_json: bool) -> None:
    """Dead letters that match, newest first: source:stripe error:IntegrityError since:2h"""
    wanted = parse(" ".join(terms), now=datetime.now(UTC))
    if wanted.state not in (None, State.DEAD):
        raise UserError(
            f"dead list: state:{wanted.state} are no dead letters; leave state out, or use landfast events list"
        )
    dead_ones = replace(wanted, state=State.DEAD)
    if found := find_events(find_inbox(app), dead_ones, limit=limit, after=after, as_json=as_json):
        rows = [[row[heading] for heading in HEADINGS] for row in map(cells, found)]
        say_table(HEADINGS, rows, cut=CUT, whole=("id",), spare=SPARE)


@dead.command()
@click.argument("event")
@app_option
@json_option
def show(*, event: str, app: str | None, as_json: bool) -> int:
    """One dead letter, by its id or the first 6 digits of it or more, its key, or SOURCE/KEY."""
    letter = run(_letter(find_inbox(app), event))
    if letter is None:
        click.echo(f"landfast: no dead letter {safe(event)!r}; see landfast dead list", err=True)
        return NEGATIVE
    if as_json:
        shown = _fields(letter) | {"headers": json_or_text(letter.headers), "trace": letter.trace}
        say_json(shown | body_fields(letter.body))
        return 0
    say_pairs(_fields(letter))
    say(f"\ntrace\n{safe(letter.trace, lines=True) or '(none)'}\nbody\n{body_text(letter.body)}")
    say(f"\nafter the fix: landfast replay {letter.event_id}")
    return 0


async def _letter(inbox: Inbox, name: str) -> DeadLetter | None:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        return dead_letter(record) if record is not None else None


def _fields(letter: DeadLetter) -> dict[str, Any]:
    fields = asdict(letter)
    del fields["body"], fields["trace"]
    return fields | {"headers": letter.headers.decode("utf-8", "replace")}
