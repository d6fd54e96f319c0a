"""`landfast audit list|verify|accept`."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import ListsByDefault
from landfast.cli.options import ROWS, app_option, find_inbox, json_option, moment, operator, run
from landfast.cli.output import counted, safe, say, say_json, say_table
from landfast.domain.errors import LandfastError, UserError
from landfast.domain.operator_log import Action
from landfast.operations import operator_log
from landfast.operations.operator_log import Operation, Verified

HEADINGS = ("line", "at", "who", "action", "result", "count", "what", "why")
SPARE = ("line", "count")
NO_END = "no word of its end"
"""Whoever asked died, or is still at it: all of it may have happened, a part, or nothing."""


@click.group(cls=ListsByDefault)
def audit() -> None:
    """Who changed what by hand, when and why; and whether anybody has tampered with that log."""


@audit.command("list")
@click.option("--since", metavar="AGE|TIME", help="Not older than that: 2h, or an ISO time.")
@click.option("--action", type=click.Choice([str(each) for each in Action]), help="Only these.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=ROWS, show_default=True)
@app_option
@json_option
def list_(*, since: str | None, action: str | None, limit: int, app: str | None, as_json: bool) -> None:
    """What operators did, newest first."""
    start = moment(since, now=datetime.now(UTC)) if since else None
    found = run(_latest(find_inbox(app), limit, start, action))
    if as_json:
        say_json({"changes": [_fields(each) for each in found]})
    elif not found:
        say("nobody has changed anything by hand")
    else:
        say_table(HEADINGS, [_cells(each) for each in found], whole=("at", "action", "result"), spare=SPARE)


@audit.command()
@click.option("--expect", metavar="DIGEST", help="Of the last line at an earlier time: it must still be there.")
@app_option
@json_option
def verify(*, expect: str | None, app: str | None, as_json: bool) -> int:
    """Check that no line was changed, removed, added or moved, and that the log was not cut: exit code 1 and the first
    bad line if it was. Write the digest that it prints down elsewhere, and give it to the next check."""
    found, note = run(_verify(find_inbox(app), _digest(expect)))
    _say(found, as_json=as_json)
    if note:
        click.echo(f"landfast: note: the ledger was not asked: {safe(note)}", err=True)
    return NEGATIVE if found.problem else 0


@audit.command()
@click.option("--why", required=True, metavar="TEXT", help="Why the log may be what it is; it is written into it.")
@app_option
@json_option
def accept(*, why: str, app: str | None, as_json: bool) -> int:
    """After a database was restored: the log is not what the ledger knew of it, and that is right. What was wrong is
    written into the log, with the reason."""
    found = run(_accept(find_inbox(app), why))
    _say(found, as_json=as_json)
    return NEGATIVE if found.problem else 0


def _say(found: Verified, *, as_json: bool) -> None:
    digest = None if found.digest is None else found.digest.hex()
    if as_json:
        fields = {"ok": not found.problem, "lines": found.lines, "digest": digest, "problem": found.problem or None}
        say_json(fields | {"known_to_the_ledger": found.anchored})
    elif found.problem:
        say(f"BAD: {found.problem}")
    else:
        known = "" if found.anchored is None else f"; the ledger knows line {found.anchored:,}"
        say(f"ok: {counted(found.lines, 'line')}, each where it was written{known}")
        if digest:
            say(f"the last digest is {digest}")


def _digest(text: str | None) -> bytes | None:
    try:
        return None if text is None else bytes.fromhex(text)
    except ValueError:
        raise UserError("audit verify: --expect takes the hexadecimal digits that an earlier check printed") from None


async def _latest(inbox: Inbox, limit: int, since: datetime | None, action: str | None) -> list[Operation]:
    async with inbox.archive() as archive:
        return await operator_log.latest(archive, limit=limit, since=since, action=action)


async def _verify(inbox: Inbox, expect: bytes | None) -> tuple[Verified, str]:
    """An inbox alone can be checked, too: what the ledger knows is one more witness."""
    try:
        async with inbox.stores() as stores:
            found = await operator_log.verify(stores.inbox, ledger=stores.ledger, inbox=stores.identity, expect=expect)
            return found, ""
    except LandfastError as error:  # no ledger yet, or one that is away
        async with inbox.archive() as archive:
            return await operator_log.verify(archive, expect=expect), str(error)


async def _accept(inbox: Inbox, why: str) -> Verified:
    async with inbox.stores() as stores:
        return await operator_log.accept(stores.inbox, stores.ledger, stores.identity, who=operator(), why=why)


def _fields(each: Operation) -> dict[str, Any]:
    asked, ended = each.asked, each.ended
    return {
        "line": asked.seq,
        "at": asked.at,
        "who": asked.entry.who,
        "host": asked.entry.host,
        "action": asked.entry.action,
        "why": asked.entry.why,
        "what": json.loads(asked.entry.what),
        "digest": asked.digest.hex(),
        "ended": ended
        and {
            "line": ended.seq,
            "at": ended.at,
            "result": ended.entry.step,
            "what": json.loads(ended.entry.what),
            "digest": ended.digest.hex(),
        },
    }


def _cells(each: Operation) -> list[Any]:
    entry, ended = each.asked.entry, each.ended
    result = {} if ended is None else json.loads(ended.entry.what)
    told = NO_END if ended is None else ended.entry.step
    if "error" in result:
        told = f"{told}: {result['error']}"
    what = " ".join(f"{name}={value}" for name, value in json.loads(entry.what).items() if value not in (None, ""))
    who = f"{entry.who}@{entry.host}" if entry.host else entry.who
    return [each.asked.seq, each.asked.at, who, entry.action, told, result.get("count"), what, entry.why]
