"""`landfast recover ledger`."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import click

from landfast.app import Inbox
from landfast.cli.groups import Commands
from landfast.cli.options import app_option, find_inbox, json_option, moment, operator, run, why_option
from landfast.cli.output import counted, say, say_json
from landfast.domain.operator_log import Action
from landfast.operations.operator_log import audited
from landfast.recovery.recover_ledger import Recovered, recover_ledger


@click.group(cls=Commands)
def recover() -> None:
    """Repair after a database lost its tail."""


@recover.command()
@click.option(
    "--since", required=True, metavar="AGE|TIME", help="Look at events received since then: 2h, or an ISO time."
)
@click.option("--dry-run", is_flag=True, help="Only count.")
@why_option
@app_option
@json_option
def ledger(*, since: str, dry_run: bool, why: str, app: str | None, as_json: bool) -> None:
    """The ledger lost receipts, in a failover say: make done events that have none ready again."""
    start = moment(since, now=datetime.now(UTC))
    found = run(_recover(find_inbox(app), start, why, dry=dry_run))
    if as_json:
        say_json(asdict(found))
        return
    done = "would be made ready" if dry_run else f"{found.recovered:,} made ready"
    say(f"{counted(found.looked_at, 'done event')}, {found.without_receipt:,} without a receipt, {done}")


async def _recover(inbox: Inbox, since: datetime, why: str, *, dry: bool) -> Recovered:
    async with inbox.stores() as stores:
        who = operator()
        if dry:
            return await recover_ledger(stores.inbox, stores.ledger, since=since, who=who, dry=True)
        async with audited(stores.inbox, Action.RECOVER, who=who, why=why, what={"since": since}) as audit:
            found = await recover_ledger(stores.inbox, stores.ledger, since=since, who=who, dry=False)
            audit.counted(found.recovered)
        return found
