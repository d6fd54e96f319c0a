"""Hooks of the user's sessions, as an audit trail has them: what they add belongs to the event, too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import async_sessionmaker
from sqlalchemy.orm import sessionmaker

from landfast.testing.conformance.ledger.desk import orders, receipt_count
from tests.ledgers.session_handlers import Given, Order, attempt
from tests.ledgers.stacks import desk_on, is_sqlite, ledger_on

pytestmark = pytest.mark.req("R20")


@pytest.mark.parametrize("stack", ["asyncpg", "sync psycopg", "sync sqlite"])
async def test_what_a_hook_adds_while_a_session_is_flushed_is_written_too(
    stack: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A commit of the session's own would flush until nothing is left."""
    where = tmp_path / "shop.db" if is_sqlite(stack) else request.getfixturevalue("migrated_database")
    async with desk_on(stack, where) as desk:
        engine: Any = desk.engine
        inner: Any = sessionmaker()
        if stack == "asyncpg":
            given: Any = async_sessionmaker(engine, sync_session_class=inner)
        else:
            given = inner
            inner.configure(bind=engine)

        @event.listens_for(inner, "after_flush")
        def flushed(session: Any, _context: object) -> None:
            for order in [each for each in session.new if each.payment.count("+") < 2]:
                session.add(Order(payment=f"{order.payment}+"))

        own, desk.ledger = desk.ledger, ledger_on(given, seed=5)
        await desk.ledger.open()

        async def handler(given: Given) -> None:
            given.session.add(Order(payment="pay"))

        try:
            assert await attempt(desk, handler) is None
        finally:
            await desk.ledger.close()
            desk.ledger = own
        assert (await orders(desk), await receipt_count(desk)) == (["pay", "pay+", "pay++"], 1)
