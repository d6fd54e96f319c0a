"""`landfast dead summary|discard`: what to do about many dead letters."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm_many
from landfast.cli.options import app_option, find_inbox, json_option, note_unknown_source, operator, run
from landfast.cli.output import counted, safe, say, say_json, shown
from landfast.cli.reveal import text_to_show
from landfast.domain.filter import Filter, joined
from landfast.domain.lifecycle import State
from landfast.operations import dead_letters as operations
from landfast.operations.failure_groups import FailureGroup, FailureGroups, dead_ones, delayed_ones, failure_groups
from landfast.recovery.find import find_event

MESSAGE_CHARACTERS = 100
"""Of the newest message of a group: enough to know it by."""


@click.command()
@click.argument("terms", metavar="[FILTER]...", nargs=-1)
@click.option("--failing", is_flag=True, help="Those that are tried again by themselves, in place of dead letters.")
@app_option
@json_option
def summary(*, terms: tuple[str, ...], failing: bool, app: str | None, as_json: bool) -> None:
    """What fails alike: by error, handler and line of your code, with the command that replays just those."""
    inbox = find_inbox(app)
    read = delayed_ones if failing else dead_ones
    wanted = read(joined(terms), now=datetime.now(UTC), command="dead summary")
    note_unknown_source(inbox, wanted)
    found = run(_groups(inbox, wanted))
    groups = [replace(each, message=text_to_show(each.message, inbox)) for each in found.groups]
    if as_json:
        say_json({"groups": [_fields(group) for group in groups], "looked_at": found.looked_at, "all": found.is_all})
        return
    if not groups:
        say("nothing fails" if failing else "no dead letters")
    for group in groups:
        _say_group(group)
    if not found.is_all:
        say(f"of the newest {counted(found.looked_at)}; there are more, which a filter such as before: leads to")


@click.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1, required=True)
@click.option("--why", required=True, metavar="TEXT", help="Why nothing more is done about them. It stays with each.")
@click.option("--preview", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@app_option
@json_option
def discard(*, what: tuple[str, ...], why: str, preview: bool, yes: bool, app: str | None, as_json: bool) -> int:
    """Close dead letters for good: one by its id, key or SOURCE/KEY, or all that match a filter. They are done, without
    a receipt, and say who decided and why; landfast replay can still run them."""
    inbox = find_inbox(app)
    if len(what) == 1 and ":" not in what[0]:
        return _discard_one(inbox, what[0], why, preview=preview, as_json=as_json)
    chosen = dead_ones(joined(what), now=datetime.now(UTC), command="dead discard")
    note_unknown_source(inbox, chosen)
    count = run(_count(inbox, chosen))
    if preview:
        return _say("would_discard", count, f"{count:,} would be discarded", as_json=as_json)
    if count and not yes:
        confirm_many("dead discard", count, str(chosen.state), verb="discard", meant="Close them for good")
    discarded = run(_discard_all(inbox, chosen, why)) if count else 0
    return _say("discarded", discarded, f"{discarded:,} discarded", as_json=as_json)


def _say_group(group: FailureGroup) -> None:
    where = f" in {group.handler}" if group.handler else ""
    line = f", {group.line}" if group.line else ""
    times = f"first {shown(group.first)}, last {shown(group.last)}"
    say(f"{group.count:,}  {safe(f'{group.error}{where}{line}')}   {safe(group.source)}, {times}")
    if group.message:
        cut = safe(group.message)
        say(f"    {cut if len(cut) <= MESSAGE_CHARACTERS else f'{cut[: MESSAGE_CHARACTERS - 1]}…'}")
    say(f"    look at one: landfast dead show {group.newest.hex()}" if group.state is State.DEAD else _look(group))
    say(f"    after the fix: {safe(group.command)}\n")


def _look(group: FailureGroup) -> str:
    return f"    look at one: landfast events show {group.newest.hex()}"


def _fields(group: FailureGroup) -> dict[str, object]:
    fields = asdict(group)
    del fields["wanted"]
    return fields | {"newest": group.newest.hex(), "command": group.command}


def _discard_one(inbox: Inbox, name: str, why: str, *, preview: bool, as_json: bool) -> int:
    state, count = run(_decide_one(inbox, name, why, preview=preview))
    if state is None:
        click.echo(f"landfast: no dead letter {safe(name)!r}; see landfast dead list", err=True)
        return NEGATIVE
    if preview:
        return _say("would_discard", count, f"it is {state}; {count} would be discarded", as_json=as_json)
    _say("discarded", count, "discarded" if count else f"it is {state}, and no dead letter", as_json=as_json)
    return 0 if count else NEGATIVE


def _say(name: str, count: int, text: str, *, as_json: bool) -> int:
    if as_json:
        say_json({name: count})
    else:
        say(text)
    return 0


async def _groups(inbox: Inbox, wanted: Filter) -> FailureGroups:
    async with inbox.archive() as archive:
        return await failure_groups(archive, wanted)


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await operations.count(archive, chosen)


async def _discard_all(inbox: Inbox, chosen: Filter, why: str) -> int:
    async with inbox.archive() as archive:
        return await operations.discard_all(archive, chosen, who=operator(), why=why)


async def _decide_one(inbox: Inbox, name: str, why: str, *, preview: bool) -> tuple[State | None, int]:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
        if record is None:
            return None, 0
        event = record.summary
        if preview:
            return event.state, int(event.state is State.DEAD)
        return event.state, await operations.discard(archive, [event.event_id], who=operator(), why=why)
