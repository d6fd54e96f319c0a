"""`landfast events export|import`: exact bytes, from one inbox to another."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.no_event import NoEventError
from landfast.cli.options import app_option, find_inbox, json_option, note_unknown_source, operator, run, why_option
from landfast.cli.output import counted, safe, say, say_json
from landfast.config import nearest
from landfast.domain.errors import UserError
from landfast.domain.filter import joined, parse
from landfast.domain.ids import EventId
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.ports.inbox import Archive
from landfast.recovery.carry import Imported, bring_in, matching, records
from landfast.recovery.event_file import FiledEvent, line_of, read_file
from landfast.recovery.find import find_event
from landfast.recovery.stored_request import must_have_body, no_body

IN_CLEAR = (
    "events export: what this inbox stores is sealed, and the file would hold it in clear; if that is meant, add"
    " --in-clear, and keep the file where the master key may be"
)


@click.command("export")
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--to", "target", metavar="FILE", required=True, help="A new file, or - for standard output.")
@click.option("--in-clear", is_flag=True, help="Of a sealed inbox: write what the events brought in clear.")
@app_option
@json_option
def export(*, what: tuple[str, ...], target: str, in_clear: bool, app: str | None, as_json: bool) -> int:
    """Write events to a file, for another inbox: one by its id, key or SOURCE/KEY, or all that match a filter. Each
    line is one event as JSON, with the exact bytes of its body; signatures and tokens are not in it."""
    inbox = find_inbox(app)
    if (inbox.settings.seal or inbox.settings.seal_old) and not in_clear:
        raise UserError(IN_CLEAR)
    written, left_out = run(_export(inbox, what, target))
    if not written and target != "-":
        Path(target).unlink()
    if as_json and target != "-":
        say_json({"exported": written, "left_out": dict(left_out), "file": target})
    elif target != "-":
        say(f"{counted(written)} in {safe(target)}" if written else "no event matches, so no file was written")
    for why, count in left_out.items():
        click.echo(f"landfast: note: left out {counted(count)} that {why}", err=True)
    return 0 if written else NEGATIVE


async def _export(inbox: Inbox, what: tuple[str, ...], target: str) -> tuple[int, Counter[str]]:
    written, left_out = 0, Counter[str]()
    async with inbox.archive() as archive:
        events = await _chosen(inbox, archive, what)
        with created(target, "events export") as file:
            async for record in records(archive, events):
                if why := no_body(record):
                    left_out["were erased" if record.summary.erased_at else why.replace("has", "have", 1)] += 1
                else:
                    file.write(line_of(record))
                    written += 1
    return written, left_out


async def _chosen(inbox: Inbox, archive: Archive, what: tuple[str, ...]) -> list[EventId]:
    if len(what) == 1 and ":" not in what[0]:
        record = await find_event(archive, what[0])
        if record is None:
            raise NoEventError(what[0])
        must_have_body(record, "events export")
        return [record.summary.event_id]
    wanted = parse(joined(what), now=datetime.now(UTC))
    note_unknown_source(inbox, wanted)
    return await matching(archive, wanted)


@contextmanager
def created(target: str, command: str) -> Iterator[IO[bytes]]:
    """For its owner alone, as the inbox's own file is; what was begun and not finished is taken away."""
    if target == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UserError(f"{command}: {target} is there already; name another file") from None
    except OSError as error:
        raise UserError(f"{command}: {target} cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
    except BaseException:
        Path(target).unlink(missing_ok=True)
        raise


@click.command("import")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@why_option
@app_option
@json_option
def import_(*, file: Path, why: str, app: str | None, as_json: bool) -> int:
    """Take events in that `events export` wrote, as new arrivals under their own keys: what is here already is a
    duplicate. Nobody proves who sent them, so import only what you would believe. The file is read to its end first: if
    a line is wrong, nothing is imported."""
    inbox = find_inbox(app)
    sources = {event.source for event in _read(file)}
    for name in sorted(sources - set(inbox.sources)):
        hint = nearest(name, inbox.sources) or "; its events will have no handler"
        click.echo(f"landfast: note: there is no source {safe(name)!r} here{hint}", err=True)
    imported = run(_import(inbox, file, why))
    new, known = sum(imported.new.values()), sum(imported.known.values())
    if as_json:
        say_json({"imported": new, "duplicate": known})
    else:
        say(f"{counted(new)} imported, {counted(known, 'duplicate')}")
    return 0


async def _import(inbox: Inbox, file: Path, why: str) -> Imported:
    async with inbox.archive() as archive:
        async with audited(archive, Action.IMPORT, who=operator(), why=why, what={"file": file.name}) as audit:
            imported = await bring_in(archive, _read(file), clock=inbox.clock)
            audit.counted(sum(imported.new.values()))
            audit.note(imported=dict(imported.new), duplicate=dict(imported.known))
        return imported


def _read(file: Path) -> Iterator[FiledEvent]:
    with file.open("rb") as lines:
        yield from read_file(iter(lines), f"events import: {file.name}")
