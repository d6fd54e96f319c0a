"""A Starlette application on PostgreSQL, with asyncpg. Its webhooks make one order for each payment.

export DATABASE_URL=postgresql://localhost/shop STRIPE_WEBHOOK_SECRET=whsec_...
uvicorn shop:app
landfast send stripe payment_intent.succeeded --app shop:inbox --url http://127.0.0.1:8000/hooks --times 5
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route

from landfast import Event, Inbox, Transaction

DATABASE_URL = os.environ["DATABASE_URL"]

# The shop's own database, for both: what came in is kept in the schema `landfast`, the receipts beside the orders.
inbox = Inbox(store=DATABASE_URL, ledger=DATABASE_URL)
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, tx: Transaction) -> None:
    # The receipt and the order commit together. A pool of your own would be another transaction: write through `tx`.
    payment = event.data["data"]["object"]
    await tx.execute("INSERT INTO orders (payment_id, amount) VALUES ($1, $2)", payment["id"], payment["amount"])


async def orders(request: Request) -> JSONResponse:
    found = await request.app.state.pool.fetch("SELECT payment_id, amount FROM orders ORDER BY id")
    return JSONResponse([dict(row) for row in found])


mounted = inbox.asgi()


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with asyncpg.create_pool(DATABASE_URL, min_size=1, max_size=5) as pool:
        app.state.pool = pool
        await pool.execute(
            "CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, payment_id text NOT NULL, amount int NOT NULL)"
        )
        async with mounted.lifespan(app):
            yield


app = Starlette(routes=[Route("/orders", orders), Mount("/hooks", mounted)], lifespan=lifespan)
