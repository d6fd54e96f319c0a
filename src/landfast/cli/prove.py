"""`landfast prove`."""

from __future__ import annotations

import asyncio
import sys
from typing import Any, TextIO

import click

from landfast.app import Inbox, load
from landfast.app.prove import sample_given, subject_of
from landfast.cli import NEGATIVE
from landfast.cli.no_event import NoEventError
from landfast.cli.options import json_option, warn_of_strange_variables
from landfast.cli.output import counted, safe, say, say_json
from landfast.cli.serve import default_app
from landfast.domain.errors import UserError
from landfast.processing.handlers.registry import Handler
from landfast.proving import Report, Sample, Subject, handler_named, prove_all
from landfast.proving.hooks import watching_everything
from landfast.recovery.find import find_event

EXAMPLES = """
\b
Examples:
  landfast prove shop:inbox                              every handler, each with a sample of its type
  landfast prove shop:inbox create_order                 one
  landfast prove shop:inbox create_order --sample paid.json   with a body of your own
  landfast prove shop:inbox create_order --event 3f9a2c       with an event that came in
"""


@click.command(epilog=EXAMPLES)
@click.argument("app", required=False)
@click.argument("handlers", nargs=-1, metavar="[HANDLER]...")
@click.option("--sample", type=click.File("rb"), metavar="FILE", help="A body as the sender sends it.")
@click.option("--event", metavar="ID", help="An event of the inbox: its id, its first 6 digits, or the sender's key.")
@click.option(
    "--schema",
    type=click.File("r"),
    metavar="FILE",
    help="SQL that makes your tables in the copy, in place of what the PostgreSQL server tells of them.",
)
@json_option
def prove(
    *,
    app: str | None,
    handlers: tuple[str, ...],
    sample: Any,
    event: str | None,
    schema: TextIO | None,
    as_json: bool,
) -> int:
    """Look for what would make a handler write twice, lose a write or act too soon. Exit 1 when something is found.

    Each handler is run alone, twice, at the same time as another event, and with a crash before and after each of its
    statements, on a copy of the ledger's database. Nothing is written in the database itself.
    """
    warn_of_strange_variables()
    # Before the application is imported: what it imports by name is watched, too.
    with watching_everything():
        inbox = load(app or default_app())
        reports = _proven(inbox, handlers, sample.read() if sample else None, event, schema.read() if schema else None)
    if as_json:
        say_json([report.fields() for report in reports])
    else:
        _say(reports)
    return NEGATIVE if any(report.findings for report in reports) else 0


def _proven(
    inbox: Inbox, names: tuple[str, ...], body: bytes | None, event: str | None, schema: str | None
) -> list[Report]:
    subject = subject_of(inbox)
    stored = asyncio.run(_stored(inbox, event)) if event else None
    handlers = [handler_named(subject, name) for name in names] or _all(subject, stored)
    if (body or stored) and len(handlers) > 1 and not names:
        handlers = [each for each in handlers if stored is None or each.takes(stored.source, stored.type)]
    given = stored or body
    cases = [(handler, sample_given(subject, handler, given)) for handler in handlers]
    progress = _Progress()
    # The plain loop, not uvloop: what that one connects to, Python's audit does not hear of.
    with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
        try:
            return runner.run(prove_all(subject, cases, schema=schema, told=progress.show))
        finally:
            progress.clear()


def _all(subject: Subject, stored: Sample | None) -> list[Handler]:
    found = [each for each in subject.registry.handlers if stored is None or each.takes(stored.source, stored.type)]
    if not found:
        what = f"no handler takes {stored.type} of {stored.source}" if stored else "the app has no handlers"
        raise UserError(f"prove: {what}; register one with @inbox.on")
    return found


async def _stored(inbox: Inbox, name: str) -> Sample:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
    if record is None:
        raise NoEventError(name)
    event = record.summary
    return Sample(
        source=event.source,
        key=event.key,
        type=event.type,
        body=record.body,
        received_at=event.received_at,
        entity=event.entity,
        occurred_at=event.occurred_at,
        headers=record.headers,
    )


def _say(reports: list[Report]) -> None:
    for report in reports:
        tried = f"{counted(report.statements, 'statement')}, {counted(report.runs, 'run')}, {report.seconds:.1f} s"
        verdict = "ok" if report.holds else counted(len(report.findings), "finding")
        say(f"{safe(report.handler)}  {safe(report.source)} {safe(report.type)}  {tried}  {verdict}")
        for finding in report.findings:
            say(f"  {safe(str(finding.place))}: {finding.title}")
            if source := finding.place.source:
                say(f"      {safe(source)}")
            say(f"    {safe(finding.what)}")
            say(f"    Fix: {finding.fix}")
        for note in report.notes:
            say(f"  note: {safe(note)}")


class _Progress:
    """Of a proof that takes seconds: one line on a terminal, which is taken away in the end."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._width = 0

    def show(self, handler: Handler, what: str) -> None:
        if self._is_shown:
            line = safe(f"{handler.name}: {what}")[:100]
            click.echo(f"\r{line:<{self._width}}", nl=False, err=True)
            self._width = len(line)

    def clear(self) -> None:
        if self._is_shown and self._width:
            click.echo(f"\r{'':<{self._width}}\r", nl=False, err=True)
