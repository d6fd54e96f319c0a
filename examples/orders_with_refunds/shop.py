"""Orders whose refunds may arrive before their payments.

Stripe promises no order. A refund names the payment that it belongs to; so it waits until that payment is booked, and a
payment that never comes makes it a dead letter which says what it waited for.

export STRIPE_WEBHOOK_SECRET=whsec_...
landfast serve shop.py
landfast lifecycle show order --app shop.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

from landfast import Event, Inbox, Transaction

inbox = Inbox(ledger="shop.db")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

inbox.lifecycle(
    "order",
    states=["paid", "refunded"],
    transitions={"absent": "paid", "paid": "refunded"},
    state_of={"payment_intent.succeeded": "paid", "charge.refunded": "refunded"},
    # Both are about the payment, and each says so in its own way.
    entity={"payment_intent.*": "data.object.id", "charge.*": "data.object.payment_intent"},
    deadline=3600.0,
)


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect("shop.db")
    db.execute(
        "CREATE TABLE IF NOT EXISTS orders (payment_id TEXT PRIMARY KEY, amount INTEGER, refunded INTEGER DEFAULT 0)"
    )
    db.close()
    yield


@inbox.on("stripe", "payment_intent.succeeded", lifecycle="order")
async def book(event: Event, tx: Transaction) -> None:
    payment = event.data["data"]["object"]
    await tx.execute("INSERT INTO orders (payment_id, amount) VALUES ($1, $2)", payment["id"], payment["amount"])


@inbox.on("stripe", "charge.refunded", lifecycle="order")
async def refund(event: Event, tx: Transaction) -> None:
    # There is an order: this runs in no other state.
    charge = event.data["data"]["object"]
    await tx.execute(
        "UPDATE orders SET refunded = $2 WHERE payment_id = $1", charge["payment_intent"], charge["amount_refunded"]
    )
