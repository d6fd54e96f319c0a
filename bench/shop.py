"""The application under load: one source, one handler, one business INSERT."""

from __future__ import annotations

import os
import time

from bench.deliveries import KIND
from landfast import Event, Inbox, Transaction
from landfast.intake import lookups
from landfast.telemetry import metrics

if os.environ.get("BENCH_WITHOUT_METRICS"):  # what the row with them is compared with
    metrics.counted = None  # type: ignore[assignment]
    lookups.TIMED_LOOKS = 10**9

INSERT = "INSERT INTO orders (payment_id, amount, waited) VALUES ($1, $2, $3)"
QUEUES = bool(os.environ.get("BENCH_WITH_WRITE"))

inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:BENCH_SECRET"])


@inbox.on("stripe", KIND)
async def create_order(event: Event, tx: Transaction) -> None:
    waited = time.time_ns() - int(event.data["data"]["object"]["metadata"]["sent"])
    payment = event.data["data"]["object"]
    if QUEUES:
        tx.write(INSERT, payment["id"], payment["amount"], waited)
    else:
        await tx.execute(INSERT, payment["id"], payment["amount"], waited)
