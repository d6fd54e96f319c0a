"""The application that the nemesis runs: two handlers and an effect, some of which misbehave once for each event.

`landfast serve tests.nemesis.shop:inbox`, with the variables that `world.py` sets.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from landfast import Effect, Event, GiveUp, Inbox, RetryLater
from landfast.domain.backoff import Backoff
from tests.crash.history import History, Line

FOLDER = Path(os.environ["NEMESIS_FOLDER"])
"""Shared by all machines of a run: the history, and a mark for each misbehaviour that has happened."""

DEADLINE = 2.0
"""Seconds: short, so that who hangs is let go of soon, and far above what a busy machine needs for one insert."""

SOON = Backoff(first=0.2, longest=2.0)
"""A run has a minute; a sender's patience is tested elsewhere."""

INSERT = "INSERT INTO orders (key, handler, run) VALUES ($1, $2, $3)"

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

_history = History(FOLDER / "history")
_labels = itertools.count(1)


@inbox.on("stripe", "order.*", deadline=DEADLINE, backoff=SOON)
async def create_order(event: Event, tx: Any) -> None:
    await tx.execute(INSERT, event.key, "create_order", event.run)
    # Each attempt stages under a name of its own: one that was rolled back would be seen if it were performed.
    label = f"{os.getpid()}-{next(_labels)}"
    tx.stage("confirm", named=label, order=event.key, label=label)
    match event.type:
        case "order.doomed":
            raise GiveUp("no such customer")
        case "order.slow":
            await asyncio.sleep(0.09)
        case "order.raises" if _first(event):
            raise ValueError("a bug that a deploy has mended since")
        case "order.retries" if _first(event):
            raise RetryLater("not yet", after=0.1)
        case "order.hangs" if _first(event):
            await asyncio.Event().wait()
        case "order.cancels" if _first(event):
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            await asyncio.sleep(0)
        case "order.swallows" if _first(event):
            with suppress(Exception):
                await tx.execute("INSERT INTO orders (misspelt) VALUES (1)")
        case "order.crashes" if _first(event):
            os.kill(os.getpid(), signal.SIGKILL)


@inbox.on("stripe", "order.*", deadline=DEADLINE, backoff=SOON)
def tell_crm(event: Event, tx: Any) -> None:
    tx.execute(INSERT, event.key, "tell_crm", event.run)
    if event.type == "order.waits" and _first(event):
        raise RetryLater("the other system is busy", after=0.1)


@inbox.effect(deadline=DEADLINE, backoff=SOON)
async def confirm(effect: Effect, order: str, label: str) -> None:
    line = Line("perform", "invoke", order, 0, id=_history.new_id(), run=effect.run, effect=effect.key)
    _history.write(line)
    if order.endswith("raises") and effect.attempt == 1:
        _history.write(msgspec.structs.replace(line, phase="fail"))
        raise RetryLater(f"the mail server is busy: {label}", after=0.1)
    _history.write(msgspec.structs.replace(line, phase="ok"))


def _first(event: Event) -> bool:
    """Whether nobody has done it for this event, in any process and however it ended."""
    try:
        os.close(os.open(FOLDER / "once" / event.key, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        return False
    return True
