"""The shop as real processes: a storm of duplicates while they are killed, and a handler that fails twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, sqlite_orders

SERVE = ["-m", "landfast", "serve", "shop.py", "--port", "{port}"]


@pytest.mark.long
async def test_a_storm_with_kills_makes_one_order_for_each_payment(tmp_path: Path) -> None:
    shop = Example("plain", tmp_path, store=str(tmp_path / "landfast.db"))
    async with shop.running(SERVE):
        await shop.storm(sqlite_orders(shop.folder / "shop.db"))


@pytest.mark.long
async def test_a_handler_that_raises_twice_makes_one_order(tmp_path: Path) -> None:
    shop = Example("plain", tmp_path, store=str(tmp_path / "landfast.db")).failing_twice()
    async with shop.running(SERVE):
        await shop.pay_once(sqlite_orders(shop.folder / "shop.db"))
