"""Django on PostgreSQL, under gunicorn: a storm of duplicates while processes are killed, and a handler that fails
twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, postgres_orders

GUNICORN = ["-m", "gunicorn", "mysite.wsgi", "--bind", "fd://{fd}", "--workers", "2", "--threads", "4"]
WORKER = ["manage.py", "landfast", "work"]
ORDERS = "SELECT payment_id FROM shop_order"


async def shop_on(database: str, folder: Path) -> Example:
    shop = Example("django_postgres", folder, store=database, path="/hooks/in/stripe", env={"DATABASE_URL": database})
    await shop.run("manage.py", "migrate")
    return shop


@pytest.mark.long
async def test_a_storm_with_kills_makes_one_order_for_each_payment(database: str, tmp_path: Path) -> None:
    shop = await shop_on(database, tmp_path)
    async with shop.running(GUNICORN, WORKER):
        await shop.storm(postgres_orders(database, ORDERS))


@pytest.mark.long
async def test_a_handler_that_raises_twice_makes_one_order(database: str, tmp_path: Path) -> None:
    shop = (await shop_on(database, tmp_path)).failing_twice()
    async with shop.running(GUNICORN, WORKER):
        await shop.pay_once(postgres_orders(database, ORDERS))
