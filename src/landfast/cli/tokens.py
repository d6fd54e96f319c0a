"""`landfast tokens create|list|revoke`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, moment, operator, run, why_option
from landfast.cli.output import safe, say, say_json, say_table
from landfast.domain.access import Role, Token
from landfast.domain.errors import UserError
from landfast.operations import tokens as operations

HEADINGS = ("name", "role", "state", "created", "by", "until")


@click.group(cls=Commands)
def tokens() -> None:
    """Who may use the admin API and its pages: make a token, list them, or revoke one. A token is shown once."""


@tokens.command()
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    default=Role.VIEWER.value,
    show_default=True,
    help="What it may do.",
)
@click.option("--for", "lasting", metavar="AGE", help="How long it is valid: 12h, 90d. Default: until it is revoked.")
@why_option
@app_option
@json_option
def create(*, name: str, role: str, lasting: str | None, why: str, app: str | None, as_json: bool) -> None:
    """Make a token and print it, this once: the inbox keeps only its digest.

    viewer looks, operator decides about events, admin erases, reveals and runs retention, too.
    """
    inbox = find_inbox(app)
    token = run(_create(inbox, name, Role(role), _seconds(lasting, inbox.clock.now()), why))
    if as_json:
        say_json({"name": name, "role": role, "token": token})
        return
    say(token)
    click.echo("landfast: note: it is shown this once; send it as Authorization: Bearer, or sign in with it", err=True)


@tokens.command("list")
@app_option
@json_option
def list_(*, app: str | None, as_json: bool) -> None:
    """Every token that was made, by name and role, never the token itself."""
    inbox = find_inbox(app)
    found = run(_tokens(inbox))
    rows = [_fields(token, inbox.clock.now()) for token in found]
    if as_json:
        say_json({"tokens": rows})
    elif not rows:
        say("there is no token: the admin API answers on the loopback of each machine alone, to everybody there")
    else:
        say_table(HEADINGS, [[row[heading] for heading in HEADINGS] for row in rows], whole=("name", "role", "state"))


@tokens.command()
@click.argument("name")
@why_option
@app_option
@json_option
def revoke(*, name: str, why: str, app: str | None, as_json: bool) -> int:
    """End a token, and every session that began with it. Servers hear of it within two seconds."""
    was_there = run(_revoke(find_inbox(app), name, why))
    if as_json:
        say_json({"revoked": name if was_there else None})
    elif was_there:
        say(f"revoked {safe(name)}")
    else:
        click.echo(f"landfast: no token is called {safe(name)!r}; see landfast tokens list", err=True)
    return 0 if was_there else NEGATIVE


def _seconds(lasting: str | None, now: datetime) -> float | None:
    try:
        seconds = None if lasting is None else (now - moment(lasting, now=now)).total_seconds()
    except UserError:
        seconds = 0.0
    if seconds is not None and seconds <= 0:
        raise UserError(f"tokens create: --for takes an age such as 12h or 90d, not {lasting!r}")
    return seconds


def _fields(token: Token, now: datetime) -> dict[str, Any]:
    state = "valid" if token.is_valid(now) else "revoked" if token.revoked_at else "expired"
    return {
        "name": token.name,
        "role": token.role,
        "state": state,
        "created": token.created_at,
        "by": token.created_by,
        "until": token.revoked_at or token.expires_at,
    }


async def _create(inbox: Inbox, name: str, role: Role, lasting: float | None, why: str) -> str:
    async with inbox.archive() as archive:
        return await operations.create(
            archive, name, role, lasting=lasting, who=operator(), why=why, chance=inbox.chance
        )


async def _tokens(inbox: Inbox) -> Sequence[Token]:
    async with inbox.archive() as archive:
        return await archive.tokens()


async def _revoke(inbox: Inbox, name: str, why: str) -> bool:
    async with inbox.archive() as archive:
        return await operations.revoke(archive, name, who=operator(), why=why)
