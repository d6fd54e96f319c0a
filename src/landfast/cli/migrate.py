"""`landfast migrate`."""

from __future__ import annotations

import click

from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import say, say_json


@click.command()
@app_option
@json_option
def migrate(*, app: str | None, as_json: bool) -> None:
    """Bring the inbox and the ledger up to date, and bind them to each other. Safe to repeat."""
    applied = run(find_inbox(app).migrate())
    if as_json:
        say_json({"applied": applied})
        return
    for name in applied:
        say(f"applied {name}")
    if not applied:
        say("up to date")
