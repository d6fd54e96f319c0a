"""The application under load: one source, one handler, one business INSERT."""

from __future__ import annotations

import time

from bench.deliveries import KIND
from landfast import Event, Inbox, Transaction

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:BENCH_SECRET"])


@inbox.on("stripe", KIND)
async def create_order(event: Event, tx: Transaction) -> None:
    waited = time.time_ns() - int(event.data["data"]["object"]["metadata"]["sent"])
    payment = event.data["data"]["object"]
    await tx.execute(
        "INSERT INTO orders (payment_id, amount, waited) VALUES ($1, $2, $3)", payment["id"], payment["amount"], waited
    )
