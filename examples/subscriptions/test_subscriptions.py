"""The life of a subscription, in every order in which it can arrive."""

from __future__ import annotations

import itertools
import time
from collections.abc import AsyncIterator
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.lifecycle import State
from landfast.testing import TestInbox

LIFE = ("trialing", "active", "past_due", "active", "canceled")
BEGAN = int(time.time()) - 1_000
ORDERS = [order for number, order in enumerate(itertools.permutations(range(len(LIFE)))) if number % 11 == 0]


@pytest.fixture
async def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[TestInbox]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRIPE_WEBHOOK_SECRET", "whsec_" + "a" * 32)
    spec = util.spec_from_file_location("subscription_shop", Path(__file__).with_name("shop.py"))
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    async with TestInbox(module.inbox) as test:
        sql(test, "CREATE TABLE subscriptions (id TEXT PRIMARY KEY, status TEXT)")
        yield test


def sql(test: TestInbox, query: str) -> list[Any]:
    return [tuple(row) for row in test.ledger.execute(query)]


def changed(subscription: int, number: int) -> dict[str, Any]:
    thing = {"id": f"sub_{subscription}", "status": LIFE[number]}
    type_ = "customer.subscription.created" if number == 0 else "customer.subscription.updated"
    return {"id": f"evt_{subscription}_{number}", "type": type_, "created": BEGAN + number, "data": {"object": thing}}


async def test_whatever_the_order_the_newest_state_is_left(shop: TestInbox) -> None:
    for subscription, order in enumerate(ORDERS):
        for number in order:
            await shop.deliver("stripe", changed(subscription, number))
            await shop.drain()
    assert set(sql(shop, "SELECT status FROM subscriptions")) == {("canceled",)}
    async with shop.stores() as stores:
        states = (await stores.inbox.census()).states
    assert states[State.DONE] == len(ORDERS) * len(LIFE)
