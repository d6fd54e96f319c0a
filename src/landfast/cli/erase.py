"""`landfast erase`."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm
from landfast.cli.no_event import NoEventError
from landfast.cli.options import app_option, find_inbox, json_option, note_unknown_source, operator, run, why_option
from landfast.cli.output import counted, say, say_json
from landfast.domain.filter import Filter, joined, parse
from landfast.operations import erasing
from landfast.recovery.erase import Report
from landfast.recovery.find import find_event
from landfast.recovery.replay import COUNT_AT_MOST

BUSY = "a worker has {} in hand; run the same command again when it is done"
UNCLEAN = (
    "erased, but an older transaction still sees it, so that its bytes are in the database's files;"
    " end that transaction, and run landfast erase --again"
)


@click.command()
@click.argument("what", metavar="EVENT | FILTER...", nargs=-1)
@click.option(
    "--again", is_flag=True, help="Finish what was begun, and erase again what a restored database brought back."
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@app_option
@json_option
def erase(
    *, what: tuple[str, ...], again: bool, dry_run: bool, yes: bool, why: str, app: str | None, as_json: bool
) -> int:
    """Destroy what events brought and what was written about them, for good: one by its id, key or SOURCE/KEY, or all
    that match a filter, such as entity:cus_9. That they came stays known, and so they never run again."""
    if bool(what) == again:
        raise click.UsageError("give an event or a filter, or --again")
    inbox = find_inbox(app)
    if again:
        return _say_report(*run(_again(inbox, why)), as_json=as_json)
    if len(what) == 1 and ":" not in what[0]:
        return _one(inbox, what[0], why, dry=dry_run, yes=yes, as_json=as_json)
    chosen = parse(joined(what), now=datetime.now(UTC))
    note_unknown_source(inbox, chosen)
    count = run(_count(inbox, chosen))
    if dry_run:
        _say({"would_erase": count}, f"{count:,} would be erased", as_json=as_json)
        return 0
    if count and not yes:
        _confirm(count)
    return _say_report(*run(_erase_all(inbox, chosen, why, asked=joined(what))), as_json=as_json)


def _one(inbox: Inbox, name: str, why: str, *, dry: bool, yes: bool, as_json: bool) -> int:
    state = run(_state_of(inbox, name))
    if state is None:
        raise NoEventError(name)
    if dry:
        _say({"would_erase": 1, "state": state}, f"it is {state}; 1 would be erased", as_json=as_json)
        return 0
    if not yes:
        _confirm(1)
    return _say_report(*run(_erase_one(inbox, name, why)), as_json=as_json)


def _confirm(count: int) -> None:
    match, them = ("matches", "it") if count == 1 else ("match", "them")
    confirm(
        "erase",
        f"{counted(count)} {match}. Erase {them} for good?",
        refusal=f"{counted(count)} {match}; add --yes to erase {them} without being asked",
    )


async def _state_of(inbox: Inbox, name: str) -> str | None:
    async with inbox.archive() as archive:
        record = await find_event(archive, name)
    return None if record is None else record.summary.state


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await archive.count(chosen, at_most=COUNT_AT_MOST)


async def _erase_one(inbox: Inbox, name: str, why: str) -> tuple[Report, bool]:
    async with inbox.stores() as stores:
        record = await find_event(stores.inbox, name)
        found = [] if record is None else [record.summary]
        return await erasing.erase_these(stores.inbox, stores.ledger, stores.identity, found, who=operator(), why=why)


async def _erase_all(inbox: Inbox, chosen: Filter, why: str, *, asked: str) -> tuple[Report, bool]:
    async with inbox.stores() as stores:
        return await erasing.erase_all(
            stores.inbox, stores.ledger, stores.identity, chosen, who=operator(), why=why, asked=asked
        )


async def _again(inbox: Inbox, why: str) -> tuple[Report, bool]:
    async with inbox.stores() as stores:
        return await erasing.again(stores.inbox, stores.ledger, stores.identity, who=operator(), why=why)


def _say_report(report: Report, is_clean: bool, *, as_json: bool) -> int:  # noqa: FBT001 - from a tuple
    fields: dict[str, object] = {
        "erased": report.erased,
        "before": report.before,
        "in_hand": report.in_hand,
        "clean": is_clean,
    }
    before = f", {report.before:,} before" if report.before else ""
    _say(fields, f"{report.erased:,} erased{before}", as_json=as_json)
    if report.in_hand:
        click.echo(f"landfast: {BUSY.format(counted(report.in_hand))}", err=True)
    if not is_clean:
        click.echo(f"landfast: {UNCLEAN}", err=True)
    return NEGATIVE if report.in_hand or not is_clean else 0


def _say(fields: dict[str, object], text: str, *, as_json: bool) -> None:
    if as_json:
        say_json(fields)
    else:
        say(text)
