"""Subscriptions that are what their newest event says, in whichever order the events arrive.

A lifecycle says which state may follow which. Where a subscription goes back and forth, as between active and past_due,
the states alone do not say which event was first: so the handler also takes the newest only, by Stripe's time.

export STRIPE_WEBHOOK_SECRET=whsec_...
landfast serve shop.py
landfast lifecycle show subscription --svg subscription.svg --app shop.py
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

from landfast import Event, Inbox, Transaction

inbox = Inbox(ledger="shop.db")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])

inbox.lifecycle(
    "subscription",
    states=["trialing", "active", "past_due", "canceled"],
    transitions={
        "absent": ["trialing", "active"],
        "trialing": ["trialing", "active", "canceled"],
        "active": ["active", "past_due", "canceled"],
        "past_due": ["past_due", "active", "canceled"],
    },
    state_of="data.object.status",
    deadline=6 * 3600.0,
)


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect("shop.db")
    db.execute("CREATE TABLE IF NOT EXISTS subscriptions (id TEXT PRIMARY KEY, status TEXT)")
    db.close()
    yield


@inbox.on("stripe", "customer.subscription.*", lifecycle="subscription", newest_only=True)
async def sync(event: Event, tx: Transaction) -> None:
    subscription = event.data["data"]["object"]
    await tx.execute(
        "INSERT INTO subscriptions (id, status) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET status = $2",
        subscription["id"],
        subscription["status"],
    )
