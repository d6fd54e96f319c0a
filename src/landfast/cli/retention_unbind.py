"""`landfast retention unbind`."""

from __future__ import annotations

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.asking import confirm
from landfast.cli.options import app_option, find_inbox, json_option, operator, run
from landfast.cli.output import say, say_json
from landfast.domain.errors import UserError
from landfast.domain.ids import InboxId
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited


@click.command()
@click.argument("inbox", metavar="INBOX")
@click.option("--yes", is_flag=True, help="Do not ask.")
@app_option
@json_option
def unbind(*, inbox: str, yes: bool, app: str | None, as_json: bool) -> int:
    """Let the ledger go of an inbox that is gone for good, by its id in hexadecimal digits. A ledger keeps its receipts
    while an inbox that writes there has not said which of them it needs. Should it come back, events that it still
    holds could be processed a second time."""
    try:
        named = InboxId(bytes.fromhex(inbox))
    except ValueError:
        raise UserError(f"unbind: {inbox!r} is no id of an inbox; `landfast retention run` names them") from None
    if not yes:
        question = f"Is the inbox {inbox} gone for good?"
        confirm("unbind", question, refusal="add --yes to let go of it without being asked")
    was_bound = run(_unbind(find_inbox(app), named))
    if as_json:
        say_json({"unbound": was_bound})
    else:
        say(f"the ledger has let go of {inbox}" if was_bound else f"the ledger knows no inbox {inbox}")
    return 0 if was_bound else NEGATIVE


async def _unbind(inbox: Inbox, named: InboxId) -> bool:
    async with inbox.stores() as stores:
        if named == stores.identity:
            raise UserError("unbind: this is the inbox of the settings here, and it is alive")
        async with audited(stores.inbox, Action.RETENTION, who=operator(), what={"unbind": named.hex()}):
            return await stores.ledger.unbind(named)
