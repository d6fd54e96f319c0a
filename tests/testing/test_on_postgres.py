"""The test kit on a PostgreSQL of the user's own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast import Inbox
from landfast.domain.errors import UserError
from landfast.testing.tester import InboxTester
from tests.testing.conftest import PAID


@pytest.fixture
async def db(migrated_database: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(migrated_database)
    await connection.execute("CREATE TABLE orders (id serial PRIMARY KEY, event text, amount integer)")
    yield connection
    await connection.close()


@pytest.fixture
def landfast_ledger(migrated_database: str) -> str:
    return migrated_database


async def count(db: Any) -> int:
    found: int = await db.fetchval("SELECT count(*) FROM orders")
    return found


async def test_handlers_write_to_the_tests_own_database(async_inbox: InboxTester, db: Any) -> None:
    await async_inbox.deliver("stripe", PAID, amount=8999)
    async_inbox.crash_at("after commit")
    await async_inbox.drain()
    await async_inbox.assert_handled_once("create_order")
    assert await count(db) == 1
    with pytest.raises(UserError, match="no SQLite file; look at it with a connection of your own"):
        _ = async_inbox.ledger


@pytest.mark.req("R52")
async def test_parallel_workers_with_duplicates_and_crashes_make_each_order_once(
    async_inbox: InboxTester, db: Any
) -> None:
    report = await async_inbox.storm("stripe", PAID, times=20, events=20, workers=6, crashes=8)
    assert (report.delivered, report.stored, report.crashes) == (400, 20, 8)
    assert await count(db) == 20
    await async_inbox.assert_handled_once("create_order")


async def test_an_effect_is_tried_again_by_the_tests_clock_and_not_by_the_databases(
    async_inbox: InboxTester, db: Any, performed: list[str]
) -> None:
    await async_inbox.deliver("stripe", PAID)
    await async_inbox.drain(effects=True, raises=False)
    await async_inbox.drain(effects=True)
    assert len(performed) == 1
    await async_inbox.run_for(hours=1, effects=True)
    assert len(performed) == 2
    assert [effect.state for effect in await async_inbox.effects()] == ["done"]


async def test_a_test_performs_no_effects_but_its_own(
    async_inbox: InboxTester, shop: Inbox, db: Any, performed: list[str], tmp_path: Path, migrated_database: str
) -> None:
    """The ledger is the user's: what another test left there, or somebody worse, stays as it is."""
    (tmp_path / "other").mkdir()
    other = InboxTester(shop, tmp_path / "other", ledger="configured")
    assert other.app.settings.ledger.target == migrated_database
    await other.deliver("stripe", PAID)
    await other.drain()
    assert not await async_inbox.effects() and not await async_inbox.events()
    await async_inbox.deliver("stripe", PAID)
    await async_inbox.drain()
    performed.append("the first one fails")
    await async_inbox.drain(effects=True)
    (mine,), (left,) = await async_inbox.effects(), await other.effects()
    assert (mine.state, left.state, left.attempts) == ("done", "ready", 0)
    assert performed[1:] == [mine.key]
    assert await count(db) == 2, "the same key, and another inbox"
