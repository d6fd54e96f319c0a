"""`landfast sessions list|end`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import safe, say, say_json, say_table
from landfast.operations import sessions as operations
from landfast.operations.sessions import Session

HEADINGS = ("session", "who", "role", "from", "since", "until")


@click.group(cls=Commands)
def sessions() -> None:
    """Who is signed in to the dashboard at your identity provider ([admin.oidc]): list them, or end one."""


@sessions.command("list")
@app_option
@json_option
def list_(*, app: str | None, as_json: bool) -> None:
    """Every session that is open, newest first."""
    found = run(_open(find_inbox(app)))
    rows = [dict(zip(HEADINGS, _values(one), strict=True)) for one in found]
    if as_json:
        say_json({"sessions": rows})
    elif not rows:
        say("nobody is signed in at an identity provider; landfast tokens list has the tokens")
    else:
        say_table(HEADINGS, [[row[heading] for heading in HEADINGS] for row in rows], whole=("session", "who", "role"))


@sessions.command()
@click.argument("session")
@why_option
@app_option
@json_option
def end(*, session: str, why: str, app: str | None, as_json: bool) -> int:
    """End one session. Servers hear of it within two seconds; who still has a role there can sign in again."""
    ended = run(_end(find_inbox(app), session, why))
    if as_json:
        say_json({"ended": session if ended else None})
    elif ended:
        say(f"ended the session of {safe(ended.who)}")
    else:
        click.echo(f"landfast: no session is called {safe(session)!r}; see landfast sessions list", err=True)
    return 0 if ended else NEGATIVE


def _values(one: Session) -> tuple[object, ...]:
    return one.id, one.who, one.role, one.host, one.began_at, one.until


async def _open(inbox: Inbox) -> Sequence[Session]:
    async with inbox.archive() as archive:
        return await operations.open_sessions(archive, now=inbox.clock.now())


async def _end(inbox: Inbox, session: str, why: str) -> Session | None:
    async with inbox.archive() as archive:
        return await operations.end(archive, session, who=operator(), why=why, now=inbox.clock.now())
