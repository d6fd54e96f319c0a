"""`landfast duplicates`."""

from __future__ import annotations

from typing import Any

import click

from landfast.app import Inbox
from landfast.app.stores import make_ledger
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import counted, safe, say, say_json, say_table
from landfast.domain.errors import UserError
from landfast.operations.duplicates import Asked, Doubled, Report, find_duplicates, reader_of

EXTRA_SHOWN = 5


@click.command()
@click.option("--table", required=True, metavar="NAME", help="A table of yours, in the ledger's database.")
@click.option("--column", required=True, metavar="NAME", help="The column that must not repeat: a payment's id, say.")
@click.option("--event-column", metavar="NAME", help="The column that names the event which a row was written for.")
@click.option("--time-column", metavar="NAME", help="When a row was written.  [default: created_at, or the like]")
@click.option("--source", metavar="NAME", help="Whose events they are: then receipts say which row to keep.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=100, show_default=True, help="Values to name.")
@app_option
@json_option
def duplicates(
    *,
    table: str,
    column: str,
    event_column: str | None,
    time_column: str | None,
    source: str | None,
    limit: int,
    app: str | None,
    as_json: bool,
) -> int:
    """Find rows that an earlier handler wrote more than once, in your own tables: which to keep, which are too many,
    and which only look so. It reads, and changes nothing. Exit code 1 if there are any."""
    if source is not None and event_column is None:
        raise UserError("duplicates: --source needs --event-column, which holds the key of the event")
    inbox = find_inbox(app)
    asked = Asked(table, column, event_column, time_column, source, limit)
    report = run(_find(inbox, asked))
    if as_json:
        say_json(_fields(asked, report))
    else:
        _say(asked, report)
    return NEGATIVE if report.extra_rows else 0


async def _find(inbox: Inbox, asked: Asked) -> Report:
    identity = None
    if asked.source is not None:
        async with inbox.archive() as archive:
            identity = await archive.identity()
    ledger = make_ledger(inbox.settings.ledger, inbox.clock, inbox.chance, concurrency=1)
    async with reader_of(ledger) as reader:
        return await find_duplicates(reader, asked, inbox=identity)


def _say(asked: Asked, report: Report) -> None:
    by = "event" if asked.event_column else asked.column
    if report.doubled:
        rows = [
            (each.value, each.event, each.count, each.keep, _too_many(each), each.keep_because)
            for each in report.doubled
        ]
        headings = (asked.column, asked.event_column or "event", "rows", "keep", "too many", "because")
        say_table(headings, rows, whole=(asked.column, "keep"), spare=("because",))
        if report.doubled_values > len(report.doubled):
            say(f"... and {report.doubled_values - len(report.doubled):,} more; --limit names more of them")
    many = f"{counted(report.extra_rows, 'row')} {'is' if report.extra_rows == 1 else 'are'} too many"
    wrote = f"by {safe(by)}, {report.doubled_values:,} wrote more than one row, and {many}"
    say(f"{safe(asked.table)}: {counted(report.rows, 'row')}; {wrote}")
    if asked.event_column:
        say(f"{report.legitimate_values:,} with several rows are legitimate: each row is of another event")
        if report.unclear_values:
            say(f"{report.unclear_values:,} with several rows name no event: nobody can tell")
    if report.without_value:
        say(f"{counted(report.without_value, 'row')} without a value in {safe(asked.column)} were not looked at")
    for note in report.notes:
        say(f"note: {note}")
    say("nothing was changed")


def _too_many(each: Doubled) -> str:
    more = each.count - 1 - EXTRA_SHOWN
    return ", ".join(map(str, each.extra[:EXTRA_SHOWN])) + (f" and {more:,} more" if more > 0 else "")


def _fields(asked: Asked, report: Report) -> dict[str, Any]:
    counts = ("rows", "without_value", "doubled_values", "extra_rows", "legitimate_values", "unclear_values")
    return {
        "table": asked.table,
        "column": asked.column,
        "event_column": asked.event_column,
        **{name: getattr(report, name) for name in counts},
        "id_columns": report.id_columns,
        "oldest_by": report.oldest_by or None,
        "doubled": [
            {
                "value": _plain(each.value),
                "event": _plain(each.event),
                "rows": each.count,
                "keep": _plain(each.keep),
                "because": each.keep_because,
                "extra": [_plain(one) for one in each.extra],
            }
            for each in report.doubled
        ],
        "legitimate": [
            {"value": _plain(each.value), "rows": each.count, "events": each.events} for each in report.legitimate
        ],
        "notes": report.notes,
    }


def _plain(value: Any) -> Any:
    """As JSON has it; of anything else its text."""
    if isinstance(value, bytes | memoryview):
        return bytes(value).hex()
    return value if value is None or isinstance(value, str | int | float) else str(value)
