"""The handlers of the shop whose dashboard is looked at: some are well, one meets a payment that it did not expect."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

from landfast import Effect, Event, Inbox, Transaction

SECRETS = {
    "stripe": "whsec_of_the_shop_in_the_window",
    "shopify": "shpss_of_the_shop_in_the_window",
    "github": "a_long_secret_for_github_hooks",
}

TABLES = """
CREATE TABLE IF NOT EXISTS orders (payment_id TEXT, amount INTEGER, email TEXT);
CREATE TABLE IF NOT EXISTS customers (id TEXT PRIMARY KEY, orders INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS plans (customer TEXT, plan TEXT);
"""


class Shop:
    """`is_mended`: whether the fix is deployed."""

    def __init__(self, folder: Path) -> None:
        (folder / "landfast.toml").touch()
        self.folder = folder
        self.is_mended = False
        self.inbox = Inbox(folder / "landfast.toml", store=str(folder / "landfast.db"), ledger=str(folder / "shop.db"))
        self.inbox.source("stripe", provider="stripe", secrets=[SECRETS["stripe"]], ordered_by="data.object.customer")
        self.inbox.source("shopify", provider="shopify", secrets=[SECRETS["shopify"]])
        self.inbox.source("github", provider="github", secrets=[SECRETS["github"]])
        self._register()

    def make_tables(self) -> None:
        database = sqlite3.connect(self.folder / "shop.db")
        database.executescript(TABLES)
        database.close()

    def _register(self) -> None:
        inbox = self.inbox

        @inbox.on("stripe", "payment_intent.succeeded", attempts=2)
        async def create_order(event: Event, tx: Transaction) -> None:
            payment = event.data["data"]["object"]
            email = payment.get("receipt_email", "") if self.is_mended else payment["receipt_email"]
            await tx.execute(
                "INSERT INTO orders (payment_id, amount, email) VALUES ($1, $2, $3)",
                payment["id"],
                payment["amount"],
                email,
            )
            account = tx.stage(open_account, payment=payment["id"])
            mail = tx.stage(send_confirmation, account=account.result)
            tx.stage(tell_warehouse, after=[mail], payment=payment["id"])

        @inbox.on("stripe", "payment_intent.succeeded")
        async def tell_crm(event: Event, tx: Transaction) -> dict[str, Any]:
            customer = event.data["data"]["object"].get("customer") or "nobody"
            await tx.execute(
                "INSERT INTO customers (id, orders) VALUES ($1, 1) ON CONFLICT (id) DO UPDATE SET orders = orders + 1",
                customer,
            )
            return {"customer": customer}

        @inbox.on("stripe", "customer.subscription.updated", ordered=True)
        async def sync_plan(event: Event, tx: Transaction) -> None:
            plan = event.data["data"]["object"]
            if plan.get("status") == "incomplete" and not self.is_mended:
                raise ConnectionError("billing.example did not answer within 5 s")
            await tx.execute("INSERT INTO plans (customer, plan) VALUES ($1, $2)", event.entity, plan["id"])

        @inbox.on("shopify", "orders/create")
        async def import_order(event: Event, tx: Transaction) -> None:
            await tx.execute("INSERT INTO orders (payment_id, amount, email) VALUES ($1, 0, '')", event.key)

        @inbox.effect
        async def open_account(effect: Effect, payment: str) -> str:
            return f"acct_{payment[-6:]}"

        @inbox.effect
        async def send_confirmation(effect: Effect, account: str) -> None: ...

        @inbox.effect
        async def tell_warehouse(effect: Effect, payment: str) -> None: ...
