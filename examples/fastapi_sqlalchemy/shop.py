"""A FastAPI application on PostgreSQL, with SQLAlchemy. Its webhooks make one order for each payment.

export DATABASE_URL=postgresql+asyncpg://localhost/shop STRIPE_WEBHOOK_SECRET=whsec_...
uvicorn shop:app
landfast send stripe payment_intent.succeeded --app shop:inbox --url http://127.0.0.1:8000/hooks --times 5
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from landfast import Effect, Event, Inbox, Transaction

DATABASE_URL = os.environ["DATABASE_URL"]

log = logging.getLogger("shop")
engine = create_async_engine(DATABASE_URL)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    payment_id: Mapped[str]
    amount: Mapped[int]


# What came in is kept in the schema `landfast` of the same database, the receipts in `landfast_ledger`.
inbox = Inbox(store=DATABASE_URL, ledger=sessions)
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event: Event, session: AsyncSession, tx: Transaction) -> None:
    # The receipt, the order and the mail commit together. A session of your own would be another transaction.
    payment = event.data["data"]["object"]
    order = Order(payment_id=payment["id"], amount=payment["amount"])
    session.add(order)
    await session.flush()
    tx.stage(send_confirmation, order_id=order.id)


@inbox.effect
async def send_confirmation(effect: Effect, order_id: int) -> None:
    # Performed after the COMMIT, at least once: the service that sends the mail is given the key, and sends one.
    log.info("mail for order %s under the key %s", order_id, effect.key)


mounted = inbox.asgi()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with engine.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    async with mounted.lifespan(app):
        yield


app = FastAPI(lifespan=lifespan)
app.mount("/hooks", mounted)


@app.get("/orders")
async def orders() -> list[dict[str, int | str]]:
    async with sessions() as session:
        found = await session.scalars(select(Order).order_by(Order.id))
        return [{"payment": order.payment_id, "amount": order.amount} for order in found]
