"""`landfast proof`."""

from __future__ import annotations

import time
from typing import Any

import click

from landfast.app import Inbox
from landfast.cli import NEGATIVE
from landfast.cli.options import app_option, find_inbox, json_option, run
from landfast.cli.output import safe, say, say_json
from landfast.recovery.proof import Proof, prove

PROGRESS_SECONDS = 2.0
"""Seconds between two lines of progress: a proof that takes less needs none."""


@click.command()
@click.option("--full", is_flag=True, help="Trust no counter: ask for every event there is. It may take minutes.")
@app_option
@json_option
def proof(*, full: bool, app: str | None, as_json: bool) -> int:
    """Check the equations between what was received, what is stored and what the ledger says. Exit 1 when one fails.

    What was proven before is not asked for again, unless a database was restored since, or with --full.
    """
    found = run(_prove(find_inbox(app), full=full))
    if as_json:
        say_json(proof_fields(found))
    else:
        say_proof(found)
    return 0 if found.holds else NEGATIVE


def say_proof(found: Proof) -> None:
    for equation in found.equations:
        say(f"{'holds' if equation.holds else 'FAILS'}  {safe(str(equation))}")
        for note in equation.note.splitlines():
            say(f"       {safe(note)}")
    say(f"lost {found.lost:,}   doubled {found.doubled:,}")


def proof_fields(found: Proof) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "lost": found.lost,
        "doubled": found.doubled,
        "unproven": found.unproven,
        "audit": {
            "began_at": found.audit.began_at,
            "walked_to": found.audit.walked_to,
            "looked_at": found.audit.looked_at,
        },
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


async def _prove(inbox: Inbox, *, full: bool) -> Proof:
    progress = Progress()
    async with inbox.stores() as stores:
        return await prove(
            stores.inbox, stores.ledger, clock=inbox.clock, chance=inbox.chance, full=full, report=progress.show
        )


class Progress:
    """Of a long walk, on stderr, every few seconds."""

    def __init__(self) -> None:
        self._shown_at = time.monotonic()

    def show(self, walked: int, of: int) -> None:
        if time.monotonic() - self._shown_at >= PROGRESS_SECONDS and walked < of:
            self._shown_at = time.monotonic()
            click.echo(f"{walked:,} of {of:,} lines of history proven", err=True)
