"""A shop that makes one order for each payment, however often Stripe delivers it.

export STRIPE_WEBHOOK_SECRET=whsec_...
landfast serve shop.py
landfast send stripe payment_intent.succeeded --app shop.py --times 5
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

from landfast import Effect, Event, Inbox, Transaction

# The ledger is the shop's own database: Landfast keeps its receipts beside the orders, so that both commit together.
inbox = Inbox(ledger="shop.db")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect("shop.db")
    db.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, payment_id TEXT, amount INTEGER)")
    db.close()
    yield


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, tx: Transaction) -> dict[str, int]:
    payment = event.data["data"]["object"]
    order_id = await tx.fetchval(
        "INSERT INTO orders (payment_id, amount) VALUES ($1, $2) RETURNING id", payment["id"], payment["amount"]
    )
    tx.stage(send_confirmation, order_id=order_id)
    return {"order": order_id}


@inbox.effect
def send_confirmation(effect: Effect, order_id: int) -> None:
    # A mail service that takes an idempotency key sends one mail for one key. This one is a file.
    with Path("mails.txt").open("a", encoding="utf-8") as mails:
        mails.write(f"{effect.key} order {order_id}\n")
