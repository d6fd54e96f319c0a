"""The shop of examples/order_and_payment: its worker is killed inside of every function, whichever webhook comes first."""

from __future__ import annotations

import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.examples.test_onboarding import Shop
from tests.patience import PATIENCE_SECONDS

WORKER = str(Path(__file__).with_name("order_worker.py"))
PLACED, CHARGED = "checkout.session.completed", "charge.succeeded"


@pytest.mark.long
@pytest.mark.req("R30")
@pytest.mark.req("R22")
def test_a_worker_that_is_killed_anywhere_leaves_each_order_shipped_or_cancelled_once(tmp_path: Path) -> None:
    shop = OrderShop(tmp_path)
    shop.run(WORKER, "--deliver", PLACED, "waits")
    assert shop.run(WORKER, "place_order", check=False) == -signal.SIGKILL
    assert shop.run(WORKER, "pack", check=False) == -signal.SIGKILL
    shop.run(WORKER)
    assert shop.orders() == []
    shown = shop.shown("events", "show", f"{PLACED} waits", "--graph")
    assert "stripe:charge.succeeded: to come by" in shown
    shop.run(WORKER, "--deliver", CHARGED, "waits")
    assert shop.run(WORKER, "book_charge", check=False) == -signal.SIGKILL
    assert shop.run(WORKER, "fulfil", check=False) == -signal.SIGKILL
    shop.run(WORKER)
    assert shop.orders() == [("waits", "shipped after 1 charge")]
    shown = shop.shown("events", "show", f"{PLACED} waits", "--graph")
    assert "stripe:charge.succeeded: came, event " in shown
    shop.run(WORKER, "--deliver", CHARGED, "came")
    shop.run(WORKER)
    shop.run(WORKER, "--deliver", PLACED, "came")
    shop.run(WORKER)
    assert shop.orders() == [("came", "shipped after 1 charge"), ("waits", "shipped after 1 charge")]


@pytest.mark.long
@pytest.mark.req("R30")
def test_an_order_without_a_charge_is_cancelled_once(tmp_path: Path) -> None:
    shop = OrderShop(tmp_path, paid_within="0.5")
    shop.run(WORKER, "--deliver", PLACED, "unpaid")
    shop.run(WORKER)
    until = time.monotonic() + PATIENCE_SECONDS
    while shop.run(WORKER, "fulfil", check=False) != -signal.SIGKILL:
        assert time.monotonic() < until
    shop.run(WORKER)
    assert shop.orders() == [("unpaid", "cancelled")]
    shop.run(WORKER, "--deliver", CHARGED, "unpaid")
    shop.run(WORKER)
    assert shop.orders() == [("unpaid", "cancelled")], "what comes too late changes nothing"


class OrderShop(Shop):
    example = "order_and_payment"

    def __init__(self, tmp_path: Path, *, paid_within: str = "86400") -> None:
        super().__init__(tmp_path, {"PAID_WITHIN_SECONDS": paid_within})

    def orders(self) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(self.folder / "shop.db")) as db:
            return db.execute("SELECT order_id, came_to FROM orders ORDER BY order_id").fetchall()
