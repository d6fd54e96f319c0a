"""The refund that arrives before its payment, and one whose payment never comes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.testing import TestInbox

TABLE = "CREATE TABLE orders (payment_id TEXT PRIMARY KEY, amount INTEGER, refunded INTEGER DEFAULT 0)"


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestInbox]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_" + "a" * 32)
    spec = util.spec_from_file_location("refund_shop", Path(__file__).with_name("shop.py"))
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    async with TestInbox(module.inbox) as test:
        sql(test, TABLE)
        yield test


def sql(test: TestInbox, query: str) -> list[Any]:
    return [tuple(row) for row in test.ledger.execute(query)]


def payment(number: int) -> dict[str, Any]:
    thing = {"id": f"pi_{number}", "amount": 8999}
    return {"id": f"evt_pay_{number}", "type": "payment_intent.succeeded", "created": 100, "data": {"object": thing}}


def refund(number: int) -> dict[str, Any]:
    thing = {"id": f"ch_{number}", "payment_intent": f"pi_{number}", "amount_refunded": 500}
    return {"id": f"evt_refund_{number}", "type": "charge.refunded", "created": 200, "data": {"object": thing}}


async def test_a_refund_waits_for_its_payment(shop: TestInbox) -> None:
    await shop.deliver("stripe", refund(1))
    await shop.drain()
    assert sql(shop, "SELECT * FROM orders") == []
    await shop.deliver("stripe", payment(1))
    await shop.drain()
    assert sql(shop, "SELECT * FROM orders") == [("pi_1", 8999, 500)]


async def test_a_refund_whose_payment_never_comes_says_so(shop: TestInbox) -> None:
    await shop.deliver("stripe", refund(2))
    await shop.drain()
    shop.advance(3601)
    await shop.drain(raises=False)
    async with shop.stores() as stores:
        (letter,) = await stores.inbox.find(Filter(state=State.DEAD), limit=9)
    assert letter.message == (
        "charge.refunded is not legal from 'absent' in lifecycle order; waited 1 h for payment_intent.succeeded"
    )
