"""`tx.write`: what was queued is written as it was queued, or its attempt fails. Nothing of it is lost in silence."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.domain.sql_text import only_inserts
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import INSERT

KEYS = [f"evt_{number}" for number in range(4)]
CUSTOMER = "INSERT INTO customers (id, favourite) VALUES ($1, $2)"
ORDER = "INSERT INTO bought (id, customer) VALUES ($1, $2)"


async def keys(shop: Shop) -> list[str]:
    return sorted(row[0] for row in await shop.sql("SELECT key FROM orders"))


@pytest.mark.parametrize("count", [1, 4])
async def test_an_insert_that_refers_to_one_that_it_passed_is_sent_in_order(postgres_shop: Shop, count: int) -> None:
    """The second customer's favourite is an order that was queued before it, and its INSERT joins the first one's."""
    shop = postgres_shop
    await shop.sql("CREATE TABLE customers (id TEXT PRIMARY KEY, favourite TEXT)")
    await shop.sql("CREATE TABLE bought (id TEXT PRIMARY KEY, customer TEXT REFERENCES customers)")
    await shop.sql("ALTER TABLE customers ADD FOREIGN KEY (favourite) REFERENCES bought")

    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        tx.write(CUSTOMER, f"{event.key} a", None)
        tx.write(ORDER, f"{event.key} o", f"{event.key} a")
        tx.write(CUSTOMER, f"{event.key} b", f"{event.key} o")

    await shop.deliver(*KEYS[:count])
    await shop.drain()
    assert await shop.states() == {State.DONE: count}
    assert [row[0] for row in await shop.sql("SELECT count(*) FROM customers")] == [2 * count]


@pytest.mark.parametrize(
    ("query", "is_plain"),
    [
        ("INSERT INTO orders (key) VALUES ($1)", True),
        ('INSERT INTO "shop"."orders" (key, "amount") VALUES ($1, 2), ($3, 4)', True),
        ("INSERT INTO orders VALUES ($1)", True),
        ("INSERT INTO totals (n) SELECT n FROM counted, (VALUES (1)) AS one", False),
        ("INSERT INTO totals (n) SELECT n FROM counted -- VALUES", False),
        ("INSERT INTO totals (n) VALUES (nextval('n'))", False),
        ("INSERT INTO totals (n) VALUES ((SELECT max FROM m))", False),
        ("INSERT INTO totals (n) VALUES (1) ON CONFLICT DO NOTHING", False),
        ("INSERT OR REPLACE INTO totals (n) VALUES (1)", False),
    ],
)
def test_only_an_insert_of_plain_values_may_pass_another(query: str, is_plain: bool) -> None:
    assert only_inserts(query) is is_plain


async def test_a_failed_write_in_a_savepoint_that_swallows_it_undoes_the_savepoint(shop: Shop) -> None:
    """SQLite goes on after an error; what was queued behind it was not sent."""
    await shop.sql("CREATE TABLE counts (n INTEGER CHECK (n > 0))")

    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        async with tx.savepoint():
            tx.write(INSERT, event.key, 1)
            tx.write("INSERT INTO counts (n) VALUES ($1)", -1)
            tx.write(INSERT, f"{event.key} behind it", 1)
            with contextlib.suppress(Exception):
                await tx.fetchval("SELECT 1")

    await shop.deliver("evt_1")
    await shop.drain()
    assert (await shop.states(), await keys(shop)) == ({State.DEAD: 1}, [])


SLOW = {
    "sqlite": "INSERT INTO orders (key, amount) WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many"
    " WHERE n < 50000000) SELECT $1, max(n) FROM many",
    "postgresql": "INSERT INTO orders (key, amount) SELECT $1, 1 FROM pg_sleep(30)",
}


COUNTS = (
    "WITH RECURSIVE many (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 1000000) SELECT count(*) FROM many"
)


@pytest.mark.parametrize("is_inside", [False, True], ids=["by itself", "in a savepoint"])
async def test_a_queue_that_a_handlers_own_timeout_cuts_off_fails_the_attempt(shop: Shop, is_inside: bool) -> None:
    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        async with tx.savepoint() if is_inside else contextlib.nullcontext():
            tx.write(SLOW[tx.dialect], event.key)
            tx.write(INSERT, f"{event.key} behind it", 1)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.05):
                    await tx.fetchval("SELECT 1")

    await shop.deliver("evt_1")
    await shop.drain()
    assert (await shop.states(), await keys(shop)) == ({State.DEAD: 1}, [])


async def test_a_queue_that_is_cut_off_before_it_begins_fails_the_attempt(tmp_path: Path) -> None:
    """SQLite's thread is busy with another statement, and skips what nobody waits for any more. The transaction is as
    well as before, and only the queue is gone. (A PostgreSQL connection refuses a second statement at once.)"""
    shop = Shop("sqlite", str(tmp_path))
    await shop.open()

    @shop.on(attempts=1)
    async def create(event: Event, tx: Any) -> None:
        slow = asyncio.ensure_future(tx.fetchval(COUNTS))
        await asyncio.sleep(0)
        tx.write(INSERT, event.key, 1)
        asked = asyncio.ensure_future(tx.fetchval("SELECT 1"))
        await asyncio.sleep(0)
        asked.cancel()
        await asyncio.wait([slow, asked])

    await shop.deliver("evt_1")
    await shop.drain()
    found = await shop.states(), await keys(shop)
    await shop.close()
    assert found == ({State.DEAD: 1}, [])


async def test_what_is_changed_after_it_was_queued_is_written_as_it_was(postgres_shop: Shop) -> None:
    shop = postgres_shop
    await shop.sql("CREATE TABLE tagged (key TEXT, tags TEXT[])")

    @shop.on()
    async def create(event: Event, tx: Any) -> None:
        tags = ["new"]
        tx.write("INSERT INTO tagged (key, tags) VALUES ($1, $2)", event.key, tags)
        tags.clear()

    await shop.deliver(*KEYS)
    await shop.drain()
    assert [list(row[0]) for row in await shop.sql("SELECT tags FROM tagged")] == [["new"]] * 4
