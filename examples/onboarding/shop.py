"""A sign-up in five steps: the payment is booked, an account opened, then a mail goes out while a server is made, and
when both are done the sales team gets a report. Each step is tried again on its own, and none that is done is repeated.

export STRIPE_WEBHOOK_SECRET=whsec_...
export SERVICES=http://127.0.0.1:9000
landfast serve shop.py
landfast events list
landfast events show EVENT --graph
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import AsyncIterator
from typing import Any
from urllib.request import Request, urlopen

from landfast import Effect, Event, Inbox, Transaction

inbox = Inbox(ledger="shop.db")
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])


@inbox.lifespan
async def prepare() -> AsyncIterator[None]:
    db = sqlite3.connect("shop.db")
    db.execute("CREATE TABLE IF NOT EXISTS accounts (id INTEGER PRIMARY KEY, payment_id TEXT, event TEXT)")
    db.close()
    yield


@inbox.on("stripe", "payment_intent.succeeded")
async def sign_up(event: Event, tx: Transaction) -> dict[str, str]:
    payment = event.data["data"]["object"]
    booked = tx.stage(book_payment, payment_id=payment["id"])
    account = tx.stage(open_account, after=[booked], payment_id=payment["id"])
    welcome = tx.stage(send_welcome, account=account.result)
    server = tx.stage(make_server, account=account.result)
    tx.stage(report, after=[welcome], account=account.result, server=server.result)
    return {"payment": payment["id"]}


@inbox.effect
def book_payment(effect: Effect, payment_id: str) -> None:
    post("bookings", effect, {"payment": payment_id})


@inbox.effect
async def open_account(effect: Effect, tx: Transaction, payment_id: str) -> int:
    """It has a transaction, so its writes happen exactly once."""
    account: int = await tx.fetchval(
        "INSERT INTO accounts (payment_id, event) VALUES ($1, $2) RETURNING id", payment_id, effect.event["key"]
    )
    return account


@inbox.effect
def send_welcome(effect: Effect, account: int) -> None:
    post("mails", effect, {"account": account})


@inbox.effect(deadline=120)
def make_server(effect: Effect, account: int) -> str:
    return str(post("servers", effect, {"account": account})["name"])


@inbox.effect
def report(effect: Effect, account: int, server: str) -> None:
    post("reports", effect, {"account": account, "server": server})


def post(service: str, effect: Effect, data: dict[str, Any]) -> Any:
    """Every service knows by the key whether it has done this already."""
    request = Request(  # noqa: S310 - the address is the operator's
        f"{os.environ['SERVICES']}/{service}",
        data=json.dumps(data).encode(),
        headers={"Idempotency-Key": effect.key, "Content-Type": "application/json"},
    )
    with urlopen(request, timeout=20) as answer:  # noqa: S310 - same
        return json.load(answer)
