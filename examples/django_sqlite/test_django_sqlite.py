"""Django on SQLite, under uvicorn: a storm of duplicates while processes are killed, and a handler that fails twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, sqlite_orders

UVICORN = ["-m", "uvicorn", "mysite.asgi:application", "--fd", "{fd}"]
WORKER = ["manage.py", "landfast", "work"]
ORDERS = "SELECT payment_id FROM shop_order"


async def shop_in(folder: Path) -> Example:
    shop = Example("django_sqlite", folder, store=str(folder / "landfast.db"), path="/hooks/in/stripe")
    await shop.run("manage.py", "migrate")
    return shop


@pytest.mark.long
async def test_a_storm_with_kills_makes_one_order_for_each_payment(tmp_path: Path) -> None:
    shop = await shop_in(tmp_path)
    async with shop.running(UVICORN, WORKER):
        await shop.storm(sqlite_orders(shop.folder / "db.sqlite3", ORDERS))


@pytest.mark.long
async def test_a_handler_that_raises_twice_makes_one_order(tmp_path: Path) -> None:
    shop = (await shop_in(tmp_path)).failing_twice()
    async with shop.running(UVICORN, WORKER):
        await shop.pay_once(sqlite_orders(shop.folder / "db.sqlite3", ORDERS))
