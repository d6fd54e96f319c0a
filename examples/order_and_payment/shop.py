"""An order is shipped when its customer's charge succeeded, whichever of the two webhooks comes first. If there is no
charge within a day, the order is cancelled.

export STRIPE_WEBHOOK_SECRET=whsec_...
landfast serve shop.py
landfast events show EVENT --graph
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta

from landfast import Effect, Event, Inbox, Transaction

PAID_WITHIN = timedelta(seconds=float(os.environ.get("PAID_WITHIN_SECONDS", "86400")))

inbox = Inbox(ledger="shop.db")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])
charged = inbox.arrival("stripe", "charge.succeeded", entity="data.object.metadata.order")


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect("shop.db")
    db.execute("CREATE TABLE IF NOT EXISTS charges (event TEXT, order_id TEXT)")
    db.execute("CREATE TABLE IF NOT EXISTS orders (event TEXT, order_id TEXT, came_to TEXT)")
    db.close()
    yield


@inbox.on("stripe", "checkout.session.completed")
async def place_order(event: Event, tx: Transaction) -> None:
    order = event.data["data"]["object"]["id"]
    paid = charged.of(order, deadline=PAID_WITHIN, on_deadline="run")
    tx.stage(fulfil, after=[tx.stage(pack, order=order), paid], order=order)


@inbox.on("stripe", "charge.succeeded")
async def book_charge(event: Event, tx: Transaction) -> None:
    order = event.data["data"]["object"]["metadata"]["order"]
    await tx.execute("INSERT INTO charges (event, order_id) VALUES ($1, $2)", event.key, order)


@inbox.effect
async def pack(effect: Effect, order: str) -> None:
    """Beside the payment."""


@inbox.effect
async def fulfil(effect: Effect, tx: Transaction, order: str) -> None:
    """It has a transaction, so its writes happen exactly once. What the charge's handler wrote is there."""
    charges = await tx.fetchval("SELECT count(*) FROM charges WHERE order_id = $1", order)
    came_to = "cancelled" if effect.timed_out else f"shipped after {charges} charge"
    await tx.execute("INSERT INTO orders (event, order_id, came_to) VALUES ($1, $2, $3)", effect.key, order, came_to)
