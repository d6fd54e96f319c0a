"""The shop under uvicorn, on psycopg: a storm of duplicates while it is killed, and a handler that fails twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, postgres_orders

UVICORN = ["-m", "uvicorn", "shop:app", "--fd", "{fd}"]


def shop_on(database: str, folder: Path) -> Example:
    env = {"DATABASE_URL": database}
    return Example("litestar_psycopg", folder, store=database, path="/hooks/in/stripe", env=env)


@pytest.mark.long
async def test_a_storm_with_kills_makes_one_order_for_each_payment(database: str, tmp_path: Path) -> None:
    shop = shop_on(database, tmp_path)
    async with shop.running(UVICORN):
        await shop.storm(postgres_orders(database))


@pytest.mark.long
async def test_a_handler_that_raises_twice_makes_one_order(database: str, tmp_path: Path) -> None:
    shop = shop_on(database, tmp_path).failing_twice()
    async with shop.running(UVICORN):
        await shop.pay_once(postgres_orders(database))
