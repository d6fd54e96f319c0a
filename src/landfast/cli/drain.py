"""`landfast drain`: one drainer process."""

from __future__ import annotations

import os

import click

from landfast import __version__
from landfast.app import load
from landfast.cli.options import warn_of_strange_variables
from landfast.cli.output import say, say_json
from landfast.cli.process_options import count_in, health_port_option, log_option, metrics_port_option, page_option
from landfast.cli.serve import default_app
from landfast.processes import logs, process_one
from landfast.processes.children import drain_process
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.listeners import listeners

EXAMPLES = """
\b
Examples:
  landfast drain                                the app of landfast.toml
  landfast drain shop:inbox --health-port 8421  for a probe: GET /health
"""


@click.command(epilog=EXAMPLES)
@click.argument("app", required=False)
@health_port_option
@metrics_port_option
@log_option
@click.option("--json", "as_json", is_flag=True, help="One JSON line when ready.")
@click.option("--prints-to-stderr", is_flag=True, hidden=True)
@click.option("--lifeline", type=int, hidden=True)
@page_option
def drain(
    *,
    app: str | None,
    health_port: int | None,
    metrics_port: int | None,
    form: str | None,
    as_json: bool,
    prints_to_stderr: bool,
    lifeline: int | None,
    page: int | None,
) -> int:
    """Bring what the journal holds into the inbox, and do nothing else.

    APP is module:inbox or a file, found from the current directory.
    """
    process_one.step_aside()
    count_in(page)
    if prints_to_stderr:
        logs.prints_to_stderr()
    if lifeline is None:  # otherwise whoever started it has said so
        warn_of_strange_variables()
    inbox = load(app or default_app())
    logs.to_stderr("drain ", form or inbox.settings.log)

    def up() -> None:
        if lifeline is not None:
            return  # whoever started it hears so over the lifeline, and owns the output
        if as_json:
            say_json({"ready": True, "pid": os.getpid()})
        else:
            say(f"landfast {__version__}   drainer {os.getpid()} is ready; journal: {inbox.settings.journal}")

    tied = Lifeline(lifeline) if lifeline is not None else None
    if tied is not None:  # its supervisor is asked
        return drain_process.run(inbox, lifeline=tied, up=up)
    asked_on = listeners(inbox, health_port=health_port, metrics_port=metrics_port)
    return drain_process.run(inbox, asked_on=asked_on, up=up)
