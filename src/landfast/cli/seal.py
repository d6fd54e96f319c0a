"""`landfast seal new|rotate`."""

from __future__ import annotations

import click

from landfast.app import Inbox
from landfast.app.stores import seal_of
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, operator, run, why_option
from landfast.cli.output import say, say_json
from landfast.domain.errors import UserError
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.recovery.rotate import rotate as rewrap_all
from landfast.sealing.master import new_master


@click.group(cls=Commands)
def seal() -> None:
    """The master key of what is sealed: draw one, or change to another."""


@seal.command()
def new() -> None:
    """Print a new master key. Keep it where the settings' seal says, and a copy where no backup of a database is."""
    click.echo(new_master())


@seal.command()
@why_option
@app_option
@json_option
def rotate(*, why: str, app: str | None, as_json: bool) -> int:
    """Put everything that is sealed under the master key in seal; seal_old names the one before. No event is written
    anew. Afterwards the old one opens nothing in either database."""
    inbox = find_inbox(app)
    if inbox.settings.seal is None:
        raise UserError("seal rotate: seal is not set; set it to the new master key, and seal_old to the one before")
    inbox_keys, ledger_keys = run(_rotate(inbox, why))
    if as_json:
        say_json({"inbox": inbox_keys, "ledger": ledger_keys})
    else:
        wrapped = f"wrapped anew: {inbox_keys} store keys of the inbox and {ledger_keys} of the ledger"
        say(f"{wrapped}; all are under the master key in seal")
    return 0


async def _rotate(inbox: Inbox, why: str) -> tuple[int, int]:
    sealing = seal_of(inbox.settings)
    async with inbox.stores() as stores:
        async with audited(stores.inbox, Action.SEAL, who=operator(), why=why, what={"do": "rotate"}) as audit:
            wrapped = await rewrap_all(stores.inbox, sealing), await rewrap_all(stores.ledger, sealing)
            audit.counted(sum(wrapped))
        return wrapped
