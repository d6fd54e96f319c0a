"""The handlers of the demo's shop: `examples/plain/shop.py`, with a door at which the demo catches the worker."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from landfast import Effect, Event, Inbox, Transaction


def register(inbox: Inbox, folder: Path) -> Inbox:
    """For the shop's own processes, which run them, and for the dashboard, which names them."""
    inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

    @inbox.on("stripe", "payment_intent.succeeded")
    async def create_order(event: Event, tx: Transaction) -> dict[str, int]:
        payment = event.data["data"]["object"]
        order_id = await tx.fetchval(
            "INSERT INTO orders (payment_id, amount) VALUES ($1, $2) RETURNING id", payment["id"], payment["amount"]
        )
        await pass_the_door(folder)
        if payment["metadata"].get("crash") and event.attempt == 1:
            raise RuntimeError("crashed, as asked, after the order was written and before it was committed")
        tx.stage(send_confirmation, order_id=order_id)
        return {"order": order_id}

    @inbox.effect
    def send_confirmation(effect: Effect, order_id: int) -> None:
        with (folder / "mails.txt").open("a", encoding="utf-8") as mails:
            mails.write(f"{effect.key} order {order_id}\n")

    return inbox


async def pass_the_door(folder: Path) -> None:
    """Say that this worker is inside, with its order written and not committed; go on when the door is open."""
    (folder / f"inside-{os.getpid()}").touch()  # a file is the demo's only way to see into this process
    while not (folder / "open").exists():  # noqa: ASYNC110 - same
        await asyncio.sleep(0.02)
