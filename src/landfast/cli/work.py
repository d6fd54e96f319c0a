"""`landfast work`: one worker process, for applications that mount the intake themselves."""

from __future__ import annotations

import os
from typing import get_args

import click

from landfast import __version__
from landfast.app import load
from landfast.cli.options import warn_of_strange_variables
from landfast.cli.output import say, say_json
from landfast.cli.process_options import count_in, health_port_option, log_option, metrics_port_option, page_option
from landfast.cli.serve import default_app
from landfast.domain.ids import WorkerId
from landfast.processes import logs, process_one
from landfast.processes.children import worker_process
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.children.worker_alone import SuspectsBeside
from landfast.processes.listeners import Listeners, listeners

EXAMPLES = """
\b
Examples:
  landfast work                                 the app of landfast.toml
  landfast work shop:inbox                      beside an application that mounts shop:inbox
  landfast work shop:inbox --health-port 8421   for a probe: GET /health, GET /ready
"""


@click.command(epilog=EXAMPLES)
@click.argument("app", required=False)
@health_port_option
@metrics_port_option
@log_option
@click.option("--worker-id", metavar="HEX", help="16 hex digits, new for every start; drawn if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON line when ready.")
@click.option("--suspects", type=click.Choice(get_args(worker_process.SuspectsRun)), default="between", hidden=True)
@click.option("--prints-to-stderr", is_flag=True, hidden=True)
@click.option("--lifeline", type=int, hidden=True)
@page_option
def work(
    *,
    app: str | None,
    health_port: int | None,
    metrics_port: int | None,
    form: str | None,
    worker_id: str | None,
    as_json: bool,
    suspects: worker_process.SuspectsRun,
    prints_to_stderr: bool,
    lifeline: int | None,
    page: int | None,
) -> int:
    """Run handlers, and take no webhooks in.

    APP is module:inbox or a file, found from the current directory.
    """
    process_one.step_aside()
    count_in(page)
    if prints_to_stderr:
        logs.prints_to_stderr()
    if lifeline is None:  # otherwise whoever started it has said so
        warn_of_strange_variables()
    name = app or default_app()
    inbox = load(name)
    form = form or inbox.settings.log
    logs.to_stderr("suspects" if suspects == "only" else "worker", form)

    def up() -> None:
        if lifeline is not None:
            return  # whoever started it hears so over the lifeline, and owns the output
        if as_json:
            say_json({"ready": True, "pid": os.getpid()})
        else:
            handlers = ", ".join(handler.name for handler in inbox.registry.handlers) or "none yet"
            say(f"landfast {__version__}   worker {os.getpid()} is ready; handlers: {handlers}")

    asked_on = Listeners()
    if lifeline is None:  # otherwise its supervisor is asked
        asked_on = listeners(inbox, health_port=health_port, metrics_port=metrics_port)
    has_one_writer = inbox.settings.ledger_driver.has_one_writer
    return worker_process.run(
        inbox,
        worker_id=None if worker_id is None else _worker_id(worker_id),
        lifeline=Lifeline(lifeline) if lifeline is not None else None,
        suspects=suspects,
        beside=SuspectsBeside(inbox, name, form=form) if lifeline is None and not has_one_writer else None,
        asked_on=asked_on,
        up=up,
    )


def _worker_id(text: str) -> WorkerId:
    try:
        decoded = bytes.fromhex(text)
    except ValueError:
        decoded = b""
    if len(decoded) != 8:
        raise click.BadParameter("it must be 16 hex digits; leave it out to have one drawn", param_hint="--worker-id")
    return WorkerId(decoded)
