"""Your handlers go here; this one makes an order of each payment."""

from __future__ import annotations

from landfast import Event, Inbox, Transaction

inbox = Inbox()  # landfast.toml, then LANDFAST_* in the environment


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, tx: Transaction) -> None:
    payment = event.data["data"]["object"]
    await tx.execute("CREATE TABLE IF NOT EXISTS orders (payment TEXT, amount INTEGER)")
    await tx.execute("INSERT INTO orders VALUES ($1, $2)", payment["id"], payment["amount"])
