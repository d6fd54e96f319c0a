"""`landfast effects list|retry|skip`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import counted, safe, say, say_json, say_table
from landfast.cli.reveal import reveal_option, rows_to_show
from landfast.domain.effect import EffectState
from landfast.operations import effects as operations


@click.group(cls=ListsByDefault)
def effects() -> None:
    """List effects, perform dead ones again, or go on without one."""


@effects.command("list")
@click.option("--state", type=click.Choice([str(state) for state in EffectState]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@reveal_option
@app_option
@json_option
def list_(*, state: str | None, limit: int, reveal: bool, app: str | None, as_json: bool) -> None:
    """Effects, newest first."""
    inbox = find_inbox(app)
    found = run(_list(inbox, EffectState(state) if state else None, limit))
    rows = [_fields(row) for row in rows_to_show(found, inbox, reveal=reveal)]
    if as_json:
        say_json({"effects": rows})
        return
    headings = ("state", "name", "event", "attempts", "error", "key")
    table = [[row[heading] for heading in headings] for row in rows]
    say_table(headings, table, whole=("state", "key"), spare=("attempts", "event"))  # the key is what retry takes


@effects.command()
@click.argument("keys", metavar="KEY...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every dead effect.")
@why_option
@app_option
@json_option
def retry(*, keys: tuple[str, ...], everything: bool, why: str, app: str | None, as_json: bool) -> int:
    """Perform dead effects again, under the same idempotency key, with fresh attempts. Of a key, its first 6 characters
    or more will do, if no other dead effect's begins so. Exits with 1 if none was dead."""
    if bool(keys) == everything:
        raise click.UsageError("give the keys of the effects (landfast effects list --state dead), or --all")
    count, others = run(_retry(find_inbox(app), keys, why))
    if as_json:
        say_json({"retried": count, "not_dead": others})
    else:
        for key, state in others.items():
            click.echo(f"landfast: {safe(key)}: {_why_not(state)}", err=True)
        if count:
            say(f"{counted(count, 'effect')} {'is' if count == 1 else 'are'} ready again")
        elif not others:
            say("no effect is dead")
    return 0 if count else NEGATIVE


@effects.command()
@click.argument("key")
@click.option("--result", metavar="JSON", help="What the steps are given that take what it returns.")
@why_option
@app_option
@json_option
def skip(*, key: str, result: str | None, why: str, app: str | None, as_json: bool) -> int:
    """Have the steps after a dead one go on without it: it is done, and never performed again. Of its key, the first 6
    characters or more will do. Exits with 1 if it was not dead."""
    skipped, state = run(_skip(find_inbox(app), key, None if result is None else operations.given_instead(result), why))
    if as_json:
        say_json({"skipped": int(skipped), "state": state})
    elif skipped:
        say("the steps after it go on without it")
    else:
        click.echo(f"landfast: {safe(key)}: {operations.why_not_skipped(state)}", err=True)
    return 0 if skipped else NEGATIVE


def _why_not(state: EffectState | None) -> str:
    if state is None:
        return operations.why_not_skipped(None)
    if state is EffectState.DONE:
        return "it is done, and is not performed again"
    if state is EffectState.WAITING:
        return "it waits for other steps, and is performed after them; retry the one that is dead"
    return f"it is {state}, and is performed without your doing"


async def _list(inbox: Inbox, state: EffectState | None, limit: int) -> Sequence[dict[str, Any]]:
    async with inbox.stores() as stores:
        return await operations.listed(stores.ledger, stores.identity, state=state, limit=limit)


async def _retry(inbox: Inbox, names: Sequence[str], why: str) -> tuple[int, dict[str, EffectState | None]]:
    async with inbox.stores() as stores:
        return await operations.retry(stores.inbox, stores.ledger, names, who=operator(), why=why)


async def _skip(inbox: Inbox, key: str, result: bytes | None, why: str) -> tuple[bool, EffectState | None]:
    async with inbox.stores() as stores:
        return await operations.skip(stores.inbox, stores.ledger, key, result=result, who=operator(), why=why)


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    event = json.loads(row["context"])
    error = f"{row['error']}: {row['message']}" if row["error"] else row["message"]
    if row["state"] is EffectState.WAITING:
        error = row["told"]
    return {
        **{name: row[name] for name in ("key", "run", "handler", "name", "state", "attempts", "created_at")},
        "named": row["step"].named,
        "after": list(row["step"].after),
        "at": row["at"],
        "event": event.get("id"),
        "arguments": json.loads(row["arguments"]),
        "error": safe(error),
        "trace": row["trace"],
    }
