"""`landfast init`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import click

from landfast.cli.options import json_option
from landfast.cli.output import say, say_json
from landfast.config import FILE
from landfast.domain.errors import UserError

HANDLERS = """\
from landfast import Effect, Event, Inbox, Transaction

inbox = Inbox()  # landfast.toml, then LANDFAST_* in the environment

@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, tx: Transaction) -> None:
    payment = event.data["data"]["object"]
    await tx.execute("CREATE TABLE IF NOT EXISTS orders (payment TEXT, amount INTEGER)")
    await tx.execute("INSERT INTO orders VALUES ($1, $2)", payment["id"], payment["amount"])
    tx.stage(confirm, payment=payment["id"])

@inbox.effect
async def confirm(effect: Effect, payment: str) -> None:
    print(f"confirmed {payment}; pass {effect.key} on as the idempotency key")
"""

SETTINGS = """\
app = "handlers:inbox"
# store = "postgresql://localhost/shop"   # default: landfast.db and landfast-ledger.db beside this file

[sources.stripe]
provider = "stripe"
# Drawn for this machine, for development. In production: secrets = ["env:STRIPE_WEBHOOK_SECRET"]
secrets = ["whsec_{secret}"]
"""


IGNORED = """\
# The two databases, and a secret that was drawn for this machine.
landfast.db*
landfast-ledger.db*
landfast.toml
__pycache__/
"""

PRIVATE = 0o600
"""It holds a secret."""


@click.command()
@json_option
def init(*, as_json: bool) -> None:
    """Write a handlers.py and a landfast.toml here, and a .gitignore if there is none. Nothing is ever overwritten."""
    wanted = {"handlers.py": HANDLERS, FILE: SETTINGS.format(secret=secrets.token_hex(16))}
    for name in wanted:
        if Path(name).exists():
            raise UserError(f"init: {name} is here already; remove it first, or run init in an empty directory")
    if not Path(".gitignore").exists():
        wanted[".gitignore"] = IGNORED
    for name, text in wanted.items():
        # Crash between two: the next init names the first one, and nobody's work is lost.
        _write(name, text)
    if as_json:
        say_json({"wrote": list(wanted)})
        return
    *most, last = wanted
    say(f"wrote {', '.join(most)} and {last}")
    say("next:  landfast serve")
    say("then:  landfast send stripe payment_intent.succeeded")


def _write(name: str, text: str) -> None:
    mode = PRIVATE if name == FILE else 0o666
    try:
        with os.fdopen(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "w", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UserError(f"init: {name} cannot be written here: {error.strerror}") from None
