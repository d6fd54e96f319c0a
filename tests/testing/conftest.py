"""A shop to try the test kit on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from landfast import Backoff, Effect, Event, Inbox, Transaction
from landfast.testing.tester import InboxTester

PAID = "payment_intent.succeeded"


@pytest.fixture
def performed() -> list[str]:
    return []


@pytest.fixture
def shop(tmp_path: Path, performed: list[str]) -> Inbox:
    """Its stores are files that must never come into being."""
    settings = tmp_path / "landfast.toml"
    settings.touch()
    inbox = Inbox(settings, store=str(tmp_path / "real.db"), ledger=str(tmp_path / "real-ledger.db"))
    inbox.source("stripe", provider="stripe", secrets=["env:NOT_SET_IN_TESTS"])
    inbox.source("hub", provider="github", secrets=["env:NOT_SET_IN_TESTS"])

    @inbox.on("stripe", PAID)
    async def create_order(event: Event, tx: Transaction) -> None:
        payment = event.data["data"]["object"]
        if payment["amount"] < 0:
            raise ValueError("a payment of less than nothing")
        order = await tx.fetchval(
            "INSERT INTO orders (event, amount) VALUES ($1, $2) RETURNING id", event.key, payment["amount"]
        )
        tx.stage(confirm, order=order)

    @inbox.effect(backoff=Backoff(first=60.0))
    async def confirm(effect: Effect, order: int) -> None:
        performed.append(effect.key)
        if len(performed) == 1:
            raise ConnectionError("the mail service is away")

    @inbox.lifespan
    async def connect() -> Any:
        (tmp_path / "lifespan").touch()
        yield

    return inbox


@pytest.fixture
def landfast_app(shop: Inbox) -> Inbox:
    return shop


@pytest.fixture
def tester(async_inbox: InboxTester) -> InboxTester:
    async_inbox.ledger.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, event TEXT, amount INTEGER)")
    return async_inbox


def orders(tester: InboxTester) -> list[tuple[str, int]]:
    return [tuple(row) for row in tester.ledger.execute("SELECT event, amount FROM orders ORDER BY id")]
