"""`landfast work`: one worker process, for applications that mount the intake themselves."""

from __future__ import annotations

import click

from landfast.app import load
from landfast.cli.serve import default_app
from landfast.domain.ids import WorkerId
from landfast.processes import worker_process
from landfast.processes.lifeline import Lifeline


@click.command()
@click.argument("app", required=False)
@click.option("--worker-id", metavar="HEX", help="16 hex digits, new for every start; drawn if not given.")
@click.option("--lifeline", type=int, hidden=True)
def work(*, app: str | None, worker_id: str | None, lifeline: int | None) -> None:
    """Run handlers, and take no webhooks in.

    APP is module:inbox or a file, found from the current directory.
    """
    worker_process.run(
        load(app or default_app()),
        worker_id=None if worker_id is None else _worker_id(worker_id),
        lifeline=Lifeline(lifeline) if lifeline is not None else None,
    )


def _worker_id(text: str) -> WorkerId:
    try:
        decoded = bytes.fromhex(text)
    except ValueError:
        decoded = b""
    if len(decoded) != 8:
        raise click.BadParameter("it must be 16 hex digits; leave it out to have one drawn", param_hint="--worker-id")
    return WorkerId(decoded)
