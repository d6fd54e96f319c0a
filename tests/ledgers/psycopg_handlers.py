"""What handlers do to a psycopg connection, in the same words for both kinds, and what is looked at afterwards."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from typing import Any

import psycopg

from landfast.domain.errors import LandfastError
from landfast.ports.ledger import LedgerTransaction
from landfast.testing.conformance.ledger.desk import key, orders, process, receipt_count
from landfast.thread_calls import finish
from tests.ledgers.driven import handled, in_its_place
from tests.ledgers.psycopg_desks import PsycopgDesk
from tests.patience import PATIENCE_SECONDS

INSERT = "INSERT INTO shop_order (payment) VALUES (%s)"
ENDED, SWALLOWED = "HandlerEndedTransactionError", "SwallowedDatabaseError"

Handler = Callable[["Conn"], Coroutine[Any, Any, None]]


class Conn:
    """The same words for both kinds of connections: a blocking one has answered when it returns."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def call(*args: Any, **more: Any) -> Any:
            answer = getattr(self.given, name)(*args, **more)
            return await answer if inspect.isawaitable(answer) else answer

        return call

    async def order(self, payment: str = "pay_1") -> None:
        await self.execute(INSERT, (payment,))

    async def first(self, query: str) -> Any:
        cursor = await self.execute(query)
        row = cursor.fetchone()
        return (await row if inspect.isawaitable(row) else row)[0]

    async def enter(self, manager: Any) -> None:
        if hasattr(manager, "__aenter__"):
            await manager.__aenter__()
        else:
            manager.__enter__()

    async def leave(self, manager: Any) -> None:
        if hasattr(manager, "__aexit__"):
            await manager.__aexit__(None, None, None)
        else:
            manager.__exit__(None, None, None)

    def below(self, *statements: str) -> None:
        """Past psycopg, on libpq's own connection."""
        for statement in statements:
            self.given.pgconn.exec_(statement.encode())


async def attempt(desk: PsycopgDesk, handler: Handler, *, of: str = "evt_1") -> str:
    """`kept`, or what it failed with."""

    async def work(tx: Any) -> None:
        try:
            await tx.reserve([key(of)])
            scope = await tx.scope()
            await handled(tx, lambda: handler(Conn(scope.given("connection"))))
            await scope.close()
            await tx.commit(results=(), effects=())
        finally:
            await tx.rollback()

    try:
        await in_its_place(await desk.ledger.begin(deadline=PATIENCE_SECONDS), work)
    except (LandfastError, psycopg.Error) as error:
        return type(error).__name__
    return "kept"


async def run(tx: LedgerTransaction, work: Coroutine[Any, Any, None]) -> None:
    if tx.lane is None:
        return await work
    _, error = await tx.lane.start(lambda: finish(work), is_async=False).ended
    if error is not None:
        raise error
    return None


async def is_as(desk: PsycopgDesk, *, kept: list[str]) -> None:
    """These orders with as many receipts, no guard row; and the pool is whole, and works."""
    assert await orders(desk) == kept
    assert await receipt_count(desk) == bool(kept)
    assert await desk.look(f"SELECT count(*) FROM {desk.table('guard')}") == [(0,)]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await desk.used():
            await asyncio.sleep(0.01)
    for number in range(5):
        assert await process(desk.ledger, key(f"next_{number}"), f"next_{number}") is None
