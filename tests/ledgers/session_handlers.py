"""Handlers that write with a session, written once for both kinds of it, and run as a worker runs them."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

from sqlalchemy import String, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from landfast.domain.outcome import Receipt
from landfast.ports.ledger import Ledger, LedgerTransaction, Scope
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders
from landfast.thread_calls import finish
from tests.ledgers.driven import handled, in_its_place
from tests.ledgers.mysql_desks import StackOnMysql, sent_raw
from tests.ledgers.stacks import BLOCKING, StackOnPostgres, StackOnSqlite, sent


class Base(DeclarativeBase):
    pass


class Order(Base):
    __tablename__ = "shop_order"
    payment: Mapped[str] = mapped_column(String(200), primary_key=True)


class Given:
    """What a handler is given, as a test writes one for both kinds of session."""

    def __init__(self, stack: str, scope: Scope) -> None:
        self.stack, self.scope = stack, scope
        self.session: Any = scope.given("session")
        self.is_blocking = stack in BLOCKING or stack == "sync pymysql"

    async def do(self, answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    async def add(self, payment: str = "pay_1") -> None:
        self.session.add(Order(payment=payment))
        await self.do(self.session.flush())

    async def call(self, name: str, *args: Any) -> Any:
        return await self.do(getattr(self.session, name)(*args))

    async def execute(self, statement: str) -> Any:
        return await self.do(self.session.execute(text(statement)))

    async def connection(self) -> Any:
        return await self.do(self.session.connection())

    async def outsider_sees(self, desk: Any) -> list[str]:
        return asyncio.run(orders(desk)) if self.is_blocking else await orders(desk)

    async def outsider_does(self, desk: Any, statement: str) -> None:
        if self.is_blocking:
            asyncio.run(desk.look(statement))
        else:
            await desk.look(statement)

    async def raw(self, statement: str) -> None:
        send = sent_raw if "mysql" in self.stack else sent
        await send(self.scope.handle.connection, statement)


Desk = StackOnPostgres | StackOnSqlite | StackOnMysql


Handler = Callable[[Given], Any]


async def attempt(desk: Desk, handler: Handler, *, name: str = "evt_1") -> BaseException | None:
    """One event, as a worker runs it; what it failed with."""

    async def work(tx: Any) -> None:
        try:
            assert await tx.reserve([key(name)]) == [None]
            scope = await tx.scope()
            await handled(tx, lambda: handler(Given(desk.stack, scope)))
            await scope.close()
            await tx.commit(results=(), effects=())
        finally:
            await tx.rollback()  # after a commit it waits until the connection is back

    try:
        await in_its_place(await desk.ledger.begin(deadline=DEADLINE), work)
    except Exception as error:  # noqa: BLE001 - what it is, is asked by the test
        return error
    return None


async def run(desk: Desk, tx: LedgerTransaction, handler: Handler) -> None:
    scope = await tx.scope()
    given = Given(desk.stack, scope)
    if tx.lane is None:
        await handler(given)
    else:
        _, error = await tx.lane.start(lambda: finish(handler(given)), is_async=False).ended
        if error is not None:
            raise error
    await scope.close()


async def process(desk: Desk, ledger: Ledger, payment: str) -> Receipt | None:
    """The whole path of one event whose handler writes one order; the receipt that was there already."""
    tx = await ledger.begin(deadline=DEADLINE)
    try:
        (there,) = await tx.reserve([key()])
        if there is None:
            await run(desk, tx, lambda given: given.add(payment))
            await tx.commit(results=(), effects=())
    finally:
        await tx.rollback()
    return there
