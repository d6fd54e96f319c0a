"""`landfast dead list|show|summary|discard`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.dead_decisions import discard, summary
from landfast.cli.events import CUT, Page, cells, find_events
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, oldest_first_option, run
from landfast.cli.output import body_text, safe, say, say_json, say_pairs, say_table
from landfast.cli.reveal import record_to_show, reveal_option
from landfast.domain.filter import joined
from landfast.operations.failure_groups import dead_ones
from landfast.operations.readable import body_fields, json_or_text
from landfast.recovery.dead_letters import DeadLetter, dead_letter
from landfast.recovery.find import find_event

HEADINGS = ("id", "source", "type", "key", "run", "received", "handler", "why", "message")
SPARE = ("run", "key", "received", "source", "handler")
"""Left out of a narrow terminal, in this order: what to do about it is in the message."""


@click.group(cls=ListsByDefault)
def dead() -> None:
    """List dead letters, group them, show one with everything known about it, or close them for good."""


dead.add_command(summary)
dead.add_command(discard)


@dead.command("list")
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@click.option("--after", metavar="CURSOR", help="Go on from the cursor that the last page ended with.")
@oldest_first_option
@app_option
@json_option
def list_(
    *, terms: tuple[str, ...], limit: int, after: str | None, oldest_first: bool, app: str | None, as_json: bool
) -> None:
    """Dead letters that match, newest first: source:stripe handler:create_order error:IntegrityError since:2h"""
    wanted = dead_ones(joined(terms), now=datetime.now(UTC), command="dead list")
    page = Page(limit, after, oldest_first)
    if found := find_events(find_inbox(app), wanted, page, as_json=as_json):
        rows = [[row[heading] for heading in HEADINGS] for row in map(cells, found)]
        say_table(HEADINGS, rows, cut=CUT, whole=("id",), spare=SPARE)


@dead.command()
@click.argument("event")
@reveal_option
@app_option
@json_option
def show(*, event: str, reveal: bool, app: str | None, as_json: bool) -> int:
    """One dead letter, by its id or the first 6 digits of it or more, its key, or SOURCE/KEY."""
    letter = run(_letter(find_inbox(app), event, reveal=reveal))
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


async def _letter(inbox: Inbox, name: str, *, reveal: bool) -> DeadLetter | None:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        return dead_letter(record_to_show(record, inbox, reveal=reveal)) if record is not None else None


def _fields(letter: DeadLetter) -> dict[str, Any]:
    fields = asdict(letter)
    del fields["body"], fields["trace"]
    return fields | {"headers": letter.headers.decode("utf-8", "replace")}
