"""A `def` handler gets the same handle without `await`, on every driver."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import pytest

from landfast.domain.errors import HandlerEndedTransactionError
from landfast.processing.handlers.registry import Registry
from landfast.processing.handlers.stage import Stage
from landfast.processing.handlers.transaction import BlockingTransaction
from landfast.testing.conformance.ledger import Desk
from landfast.testing.conformance.ledger.desk import key, orders, transaction
from landfast.testing.factory import DAWN


@pytest.fixture(params=["sqlite_desk", "postgres_desk"])
def desk(request: pytest.FixtureRequest) -> Desk:
    found: Desk = request.getfixturevalue(request.param)
    return found


async def test_a_def_handler_reads_and_writes(desk: Desk) -> None:
    def handler(tx: BlockingTransaction) -> None:
        assert tx.execute("INSERT INTO shop_order VALUES ($1)", "pay_1") == "INSERT 0 1"
        assert [row["payment"] for row in tx.fetch("SELECT payment FROM shop_order")] == ["pay_1"]
        assert tx.fetchrow("SELECT payment FROM shop_order")[0] == tx.fetchval("SELECT payment FROM shop_order")
        assert tx.connection is not None

    await run(desk, handler)
    assert await orders(desk) == ["pay_1"]


async def test_a_savepoint_of_a_def_handler_undoes_what_is_inside(desk: Desk) -> None:
    def handler(tx: BlockingTransaction) -> None:
        with tx.savepoint():
            tx.execute("INSERT INTO shop_order VALUES ('pay_1')")
        with contextlib.suppress(ZeroDivisionError), tx.savepoint():
            tx.execute("INSERT INTO shop_order VALUES ('pay_2')")
            _ = 1 / 0

    await run(desk, handler)
    assert await orders(desk) == ["pay_1"]


async def test_a_def_handler_cannot_commit(desk: Desk) -> None:
    def handler(tx: BlockingTransaction) -> None:
        with pytest.raises(HandlerEndedTransactionError):
            tx.execute("COMMIT")

    await run(desk, handler)


async def run(desk: Desk, handler: Callable[[BlockingTransaction], None]) -> None:
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        stage = Stage(Registry(), key(), {}, lambda: DAWN)
        await asyncio.to_thread(handler, BlockingTransaction(tx.given, stage))
        await tx.commit(results=(), effects=())
