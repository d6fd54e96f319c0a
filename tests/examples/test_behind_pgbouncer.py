"""A shop whose databases are both behind a real PgBouncer in transaction mode: the storm, with kills."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.storm import Example, postgres_orders
from tests.pgbouncer import PgBouncer


@pytest.mark.long
async def test_a_storm_with_kills_behind_a_pooler_makes_one_order_for_each_payment(
    database: str, database_name: str, pgbouncer: PgBouncer, tmp_path: Path
) -> None:
    pooled = pgbouncer.dsn(database_name)
    shop = Example("starlette_asyncpg", tmp_path, store=pooled, path="/hooks/in/stripe", env={"DATABASE_URL": pooled})
    async with shop.running(["-m", "uvicorn", "shop:app", "--fd", "{fd}"]):
        await shop.storm(postgres_orders(database))
