"""`landfast effects list|retry`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, run
from landfast.cli.output import safe, say, say_json, say_table
from landfast.domain.outcome import EffectState

RETRIED_AT_ONCE = 1000
"""Effects made ready in one transaction of the ledger."""


@click.group()
def effects() -> None:
    """List effects, or perform dead ones again."""


@effects.command("list")
@click.option("--state", type=click.Choice([str(state) for state in EffectState]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 1000), default=ROWS, show_default=True)
@app_option
@json_option
def list_(*, state: str | None, limit: int, app: str | None, as_json: bool) -> None:
    """Effects, newest first."""
    rows = [_fields(row) for row in run(_list(find_inbox(app), EffectState(state) if state else None, limit))]
    if as_json:
        say_json(rows)
        return
    headings = ("state", "name", "event", "attempts", "error", "key")
    table = [[row[heading] for heading in headings] for row in rows]
    say_table(headings, table, whole=("state", "key"), spare=("attempts", "event"))  # the key is what retry takes


@effects.command()
@click.argument("keys", metavar="KEY...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every dead effect.")
@app_option
@json_option
def retry(*, keys: tuple[str, ...], everything: bool, app: str | None, as_json: bool) -> int:
    """Perform dead effects again, under the same idempotency key, with fresh attempts."""
    if bool(keys) == everything:
        raise click.UsageError("give the keys of the effects (landfast effects list --state dead), or --all")
    count = run(_retry(find_inbox(app), frozenset(keys)))
    if as_json:
        say_json({"retried": count})
    else:
        say(f"{count:,} effects ready again")
    return 0 if count else NEGATIVE


async def _list(inbox: Inbox, state: EffectState | None, limit: int) -> Sequence[dict[str, Any]]:
    async with inbox.stores() as stores:
        return await stores.ledger.list(state=state, limit=limit)


async def _retry(inbox: Inbox, keys: frozenset[str]) -> int:
    """A dead effect that was made ready is not dead any more, so each look finds the next ones, until none is left."""
    count = 0
    async with inbox.stores() as stores:
        while True:
            dead = await stores.ledger.list(state=EffectState.DEAD, limit=RETRIED_AT_ONCE)
            chosen = [(row["key"], row["run"]) for row in dead if not keys or row["key"] in keys]
            if not chosen:
                return count
            count += await stores.ledger.retry(chosen)


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    event = json.loads(row["context"])
    error = f"{row['error']}: {row['message']}" if row["error"] else row["message"]
    return {
        **{name: row[name] for name in ("key", "run", "handler", "name", "state", "attempts", "created_at")},
        "event": event.get("id"),
        "arguments": json.loads(row["arguments"]),
        "error": safe(error),
        "trace": row["trace"],
    }
