"""A Litestar application on PostgreSQL, with psycopg's own pool. Its webhooks make one order for each payment.

export DATABASE_URL=postgresql://localhost/shop STRIPE_WEBHOOK_SECRET=whsec_...
uvicorn shop:app
landfast send stripe payment_intent.succeeded --app shop:inbox --url http://127.0.0.1:8000/hooks --times 5
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from litestar import Litestar, asgi, get
from psycopg import AsyncConnection
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool

from landfast import Event, Inbox

DATABASE_URL = os.environ["DATABASE_URL"]

# The application's own pool. Handlers of webhooks get its connections, with a transaction of Landfast's open on them.
pool = AsyncConnectionPool(DATABASE_URL, min_size=1, max_size=8, open=False)

inbox = Inbox(store=DATABASE_URL, ledger=pool)
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, conn: AsyncConnection) -> None:
    # The receipt and the order commit together, when this returns. `conn.commit()` is not for us to say.
    payment = event.data["data"]["object"]
    await conn.execute("INSERT INTO orders (payment_id, amount) VALUES (%s, %s)", (payment["id"], payment["amount"]))


@get("/orders")
async def orders() -> list[dict[str, Any]]:
    async with pool.connection() as conn, conn.cursor(row_factory=dict_row) as cursor:
        await cursor.execute("SELECT payment_id, amount FROM orders ORDER BY id")
        return await cursor.fetchall()


mounted = inbox.asgi()


@asynccontextmanager
async def lifespan(app: Litestar) -> AsyncIterator[None]:
    async with pool:
        async with pool.connection() as conn:
            await conn.execute(
                "CREATE TABLE IF NOT EXISTS orders"
                " (id serial PRIMARY KEY, payment_id text NOT NULL, amount int NOT NULL)"
            )
        async with mounted.lifespan(app):
            yield


app = Litestar([orders, asgi("/hooks", is_mount=True, copy_scope=True)(mounted)], lifespan=[lifespan])
