"""The shop under a real gunicorn, with a worker beside it: a storm of duplicates while they are killed, and a handler
that fails twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, postgres_orders

GUNICORN = ["-m", "gunicorn", "shop:app", "--bind", "fd://{fd}", "--threads", "8"]
WORKER = ["-m", "landfast", "work", "shop:inbox"]


async def shop_on(database: str, folder: Path) -> Example:
    env = {"DATABASE_URL": database.replace("postgresql://", "postgresql+psycopg://")}
    shop = Example("flask_sqlalchemy", folder, store=database, path="/hooks/in/stripe", env=env)
    await shop.run("-m", "flask", "--app", "shop", "init-db")
    return shop


@pytest.mark.long
async def test_a_storm_with_kills_makes_one_order_for_each_payment(database: str, tmp_path: Path) -> None:
    shop = await shop_on(database, tmp_path)
    async with shop.running(GUNICORN, WORKER):
        await shop.storm(postgres_orders(database))


@pytest.mark.long
async def test_a_handler_that_raises_twice_makes_one_order(database: str, tmp_path: Path) -> None:
    shop = (await shop_on(database, tmp_path)).failing_twice()
    async with shop.running(GUNICORN, WORKER):
        await shop.pay_once(postgres_orders(database))
