"""`landfast proof`."""

from __future__ import annotations

from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import safe, say, say_json
from landfast.recovery.proof import Proof, prove


@click.command()
@app_option
@json_option
def proof(*, app: str | None, as_json: bool) -> int:
    """Check the equations between what was received, what is stored and what the ledger says. Exit 1 when one fails."""
    found = run(_prove(find_inbox(app)))
    if as_json:
        say_json(proof_fields(found))
    else:
        say_proof(found)
    return 0 if found.holds else NEGATIVE


def say_proof(found: Proof) -> None:
    for equation in found.equations:
        say(f"{'holds' if equation.holds else 'FAILS'}  {safe(str(equation))}")
        if equation.note:
            say(f"       {safe(equation.note)}")
    say(f"lost {found.lost:,}   doubled {found.doubled:,}")


def proof_fields(found: Proof) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "lost": found.lost,
        "doubled": found.doubled,
        "unproven": found.unproven,
        "effects": {str(state): count for state, count in found.effects.items()},
        "equations": [
            {
                "name": equation.name,
                "left": dict([equation.left]),
                "right": dict(equation.right),
                "holds": equation.holds,
                "note": equation.note,
            }
            for equation in found.equations
        ],
    }


async def _prove(inbox: Inbox) -> Proof:
    async with inbox.stores() as stores:
        return await prove(stores.inbox, stores.ledger, stores.ledger)
