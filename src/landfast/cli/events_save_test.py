"""`landfast events save-test`: a dead letter becomes a test."""

from __future__ import annotations

import click

from landfast.app import Inbox
from landfast.app.batch_of_one import body_alone
from landfast.app.sources import profile_of
from landfast.cli.events_export import created
from landfast.cli.no_event import NoEventError
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import safe, say, say_json
from landfast.domain.errors import UserError
from landfast.domain.summary import EventRecord
from landfast.recovery.find import find_event
from landfast.recovery.saved_test import file_text, name_of_test
from landfast.recovery.stored_request import must_have_body


@click.command("save-test")
@click.argument("event")
@click.option(
    "--to",
    "target",
    metavar="FILE",
    help="A new file, such as tests/test_evt_1.py; - prints it. Default: one here, with the name of the test.",
)
@app_option
@json_option
def save_test(*, event: str, target: str | None, app: str | None, as_json: bool) -> int:
    """Write a test for pytest that delivers exactly this event's bytes to your handlers, and fails as they do. EVENT is
    its id, key or SOURCE/KEY."""
    inbox = find_inbox(app)
    record = run(_find(inbox, event))
    if record is None:
        raise NoEventError(event)
    must_have_body(record, "events save-test")
    if inbox.settings.seal or inbox.settings.seal_old:
        click.echo("landfast: note: what this inbox stores is sealed, and the test holds it in clear", err=True)
    text = file_text(record, _body(inbox, record), app=app)
    target = target or f"{name_of_test(record)}.py"
    with created(target, "events save-test") as file:
        file.write(text.encode())
    if as_json and target != "-":
        say_json({"file": target, "test": name_of_test(record)})
    elif target != "-":
        say(f"wrote {safe(target)}; run it with: pytest {safe(target)}")
    return 0


async def _find(inbox: Inbox, name: str) -> EventRecord | None:
    async with inbox.archive() as archive:
        return await find_event(archive, name)


def _body(inbox: Inbox, record: EventRecord) -> bytes:
    settings = inbox.sources.get(record.summary.source)
    if settings is None:
        raise UserError(
            f"events save-test: there is no source {record.summary.source!r} here, so no test can deliver to it;"
            " declare it, or name the app that does with --app"
        )
    return body_alone(profile_of(settings), record, "events save-test")
