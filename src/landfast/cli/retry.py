"""`landfast retry`: delayed events, now."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm_many
from landfast.cli.no_event import NoEventError
from landfast.cli.options import app_option, find_inbox, json_option, note_unknown_source, operator, run, why_option
from landfast.cli.output import say, say_json
from landfast.domain.filter import Filter, joined
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.operations import dead_letters as operations
from landfast.operations.failure_groups import delayed_ones
from landfast.recovery.find import find_event


@click.command()
@click.argument("what", metavar="EVENT... | FILTER...", nargs=-1, required=True)
@click.option("--preview", is_flag=True, help="Only count.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@why_option
@app_option
@json_option
def retry(*, what: tuple[str, ...], preview: bool, yes: bool, why: str, app: str | None, as_json: bool) -> int:
    """Try delayed events now, and not when their backoff is over: after the fix, nobody has to wait for an hour. By
    their ids or keys, or all that match a filter. It is the next attempt of the same run, and counts as one."""
    inbox = find_inbox(app)
    if not any(":" in one for one in what):
        return _named(inbox, what, why, preview=preview, as_json=as_json)
    chosen = delayed_ones(joined(what), now=datetime.now(UTC), command="retry")
    note_unknown_source(inbox, chosen)
    count = run(_count(inbox, chosen))
    if preview:
        return _say("would_retry", count, f"{count:,} would be tried now", as_json=as_json)
    if count and not yes:
        confirm_many("retry", count, str(chosen.state), verb="try", meant="Try them now")
    retried = run(_retry_all(inbox, chosen, why)) if count else 0
    return _say("retried", retried, f"{retried:,} ready, and tried next", as_json=as_json)


def _named(inbox: Inbox, names: tuple[str, ...], why: str, *, preview: bool, as_json: bool) -> int:
    found, retried = run(_retry_named(inbox, names, why, preview=preview))
    if preview:
        return _say("would_retry", retried, f"{retried:,} would be tried now", as_json=as_json)
    others = ", ".join(f"{name} is {state}" for name, state in found.items() if state is not State.DELAYED)
    _say("retried", retried, f"{retried:,} ready, and tried next{f'; {others}' if others else ''}", as_json=as_json)
    return 0 if retried == len(found) else NEGATIVE


def _say(name: str, count: int, text: str, *, as_json: bool) -> int:
    if as_json:
        say_json({name: count})
    else:
        say(text)
    return 0


async def _count(inbox: Inbox, chosen: Filter) -> int:
    async with inbox.archive() as archive:
        return await operations.count(archive, chosen)


async def _retry_all(inbox: Inbox, chosen: Filter, why: str) -> int:
    async with inbox.archive() as archive:
        return await operations.retry_all(archive, chosen, who=operator(), why=why)


async def _retry_named(
    inbox: Inbox, names: tuple[str, ...], why: str, *, preview: bool
) -> tuple[dict[str, State], int]:
    states: dict[str, State] = {}
    events: list[EventId] = []
    async with inbox.archive() as archive:
        for name in names:
            record = await find_event(archive, name)
            if record is None:
                raise NoEventError(name, see="events list state:delayed")
            states[name] = record.summary.state
            events.append(record.summary.event_id)
        if preview:
            return states, sum(state is State.DELAYED for state in states.values())
        return states, await operations.retry(archive, events, who=operator(), why=why)
