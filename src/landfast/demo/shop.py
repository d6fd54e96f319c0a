"""The demo's shop, on Landfast: `examples/shop.py`, with a door at which the demo catches the worker."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

from landfast import Effect, Event, Inbox, Transaction

DATABASE = "shop.db"
ORDERS = "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, payment_id TEXT, amount INTEGER)"

inbox = Inbox(ledger=DATABASE)
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect(DATABASE)
    db.execute(ORDERS)
    db.close()
    yield


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, tx: Transaction) -> dict[str, int]:
    payment = event.data["data"]["object"]
    order_id = await tx.fetchval(
        "INSERT INTO orders (payment_id, amount) VALUES ($1, $2) RETURNING id", payment["id"], payment["amount"]
    )
    await pass_the_door()
    if payment["metadata"].get("crash") and event.attempt == 1:
        raise RuntimeError("crashed, as asked, after the order was written and before it was committed")
    tx.stage(send_confirmation, order_id=order_id)
    return {"order": order_id}


@inbox.effect
def send_confirmation(effect: Effect, order_id: int) -> None:
    with Path("mails.txt").open("a", encoding="utf-8") as mails:
        mails.write(f"{effect.key} order {order_id}\n")


async def pass_the_door() -> None:
    """Say that this worker is inside, with its order written and not committed; go on when the door is open."""
    Path(f"inside-{os.getpid()}").touch()  # noqa: ASYNC240 - a file is the demo's only way to see into this process
    while not Path("open").exists():  # noqa: ASYNC110, ASYNC240 - same
        await asyncio.sleep(0.02)
