"""`landfast mcp`."""

from __future__ import annotations

import socket

import click

from landfast.admin.desk import Desk
from landfast.app import Inbox
from landfast.assistant.session import Session
from landfast.assistant.stdio import Write, serve, stdout_alone
from landfast.assistant.tools import tools
from landfast.cli.options import app_option, find_inbox, operator, run
from landfast.domain.access import Operator, Role
from landfast.domain.errors import UserError

NAME_CHARACTERS = 100


@click.command()
@click.option("--allow-changes", is_flag=True, help="Offer replay, retry, discard, pause and the like, too.")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    help="What the assistant may do. Default: viewer; with --allow-changes operator.",
)
@click.option("--as", "name", metavar="NAME", help="Whom the operator log names. Default: your login.")
@app_option
def mcp(*, allow_changes: bool, role: str | None, name: str | None, app: str | None) -> None:
    """Offer what the commands and the dashboard show to an assistant, as tools: a server of the Model Context Protocol
    on stdin and stdout, which the assistant starts by itself.

    It only looks, unless --allow-changes is given. Each change is in the operator log, as NAME via mcp.
    """
    by = _operator(name, role, allow_changes=allow_changes)
    with stdout_alone() as write:
        run(_serve(find_inbox(app), by, write, allow_changes=allow_changes))


def _operator(name: str | None, role: str | None, *, allow_changes: bool) -> Operator:
    chosen = Role(role) if role else Role.OPERATOR if allow_changes else Role.VIEWER
    if allow_changes and not chosen.may(Role.OPERATOR):
        raise UserError("mcp: --role viewer changes nothing; leave out --allow-changes, or take --role operator")
    who = operator() if name is None else name.strip()
    if not who or not who.isprintable() or len(who) > NAME_CHARACTERS:
        raise UserError(f"mcp: --as takes a name of up to {NAME_CHARACTERS} letters that can be seen")
    return Operator(f"{who} via mcp", chosen, socket.gethostname())


async def _serve(inbox: Inbox, by: Operator, write: Write, *, allow_changes: bool) -> None:
    desk = Desk(inbox)
    try:
        await serve(Session(desk, tools(by, allow_changes=allow_changes), by), write)
    finally:
        await desk.close()
