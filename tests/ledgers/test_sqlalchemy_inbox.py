"""An inbox on the user's engine, from the delivery to the order: what handlers ask for, groups, effects, deadlines."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession
from sqlalchemy.orm import Session

from landfast import BlockingTransaction, Effect, Event, Inbox, Transaction
from landfast.testing.tester import InboxTester
from tests.ledgers.loop_time import LoopTime
from tests.ledgers.session_handlers import Base, Order
from tests.ledgers.stacks import BLOCKING, STACKS, checked_out, engine_on, is_sqlite
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R20")

TYPE = "payment_intent.succeeded"


class Shop:
    """An inbox on an engine with the shop's tables, and a tester around it."""

    def __init__(self, stack: str, request: pytest.FixtureRequest, folder: Path) -> None:
        where = folder / "shop.db" if is_sqlite(stack) else request.getfixturevalue("database")
        self.stack = stack
        self.engine: Any = engine_on(stack, where)
        self.inbox = Inbox(store=str(folder / "real.db"), ledger=self.engine)
        self.inbox.source("stripe", provider="stripe", secrets=["whsec_" + "a" * 32])
        self._folder = folder
        self._look: Any = engine_on("sync sqlite" if is_sqlite(stack) else "sync psycopg", where)
        Base.metadata.create_all(cast(Any, self._look))

    def tester(self) -> InboxTester:
        folder = self._folder / "tester"
        folder.mkdir()
        return InboxTester(self.inbox, folder, ledger="configured")

    def close(self) -> None:
        self._look.dispose()

    def orders(self) -> list[str]:
        with Session(self._look) as session:
            return sorted(session.scalars(select(Order.payment)))


@pytest.fixture(params=STACKS)
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(request.param, request, tmp_path)
    yield opened
    opened.close()


@pytest.fixture(params=BLOCKING)
def blocking_shop(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Shop]:
    opened = Shop(request.param, request, tmp_path)
    yield opened
    opened.close()


class OfTheUser(Session):
    """As SQLModel's is."""


async def test_every_way_to_ask_leads_to_the_same_transaction(shop: Shop) -> None:
    mails: list[int] = []

    @shop.inbox.effect
    async def mail(effect: Effect, number: int) -> None:
        mails.append(number)

    if shop.stack in BLOCKING:

        @shop.inbox.on("stripe", TYPE)
        def create_order(
            event: Event, session: Session, tx: BlockingTransaction, conn: Connection, *, again: OfTheUser
        ) -> None:
            assert tx.session is session
            assert again is session
            session.add(Order(payment=f"{event.key}_session"))
            conn.execute(insert(Order).values(payment=f"{event.key}_conn"))
            tx.execute("INSERT INTO shop_order VALUES ($1)", f"{event.key}_tx")
            tx.stage(mail, number=1)

    else:

        @shop.inbox.on("stripe", TYPE)
        async def create_order_too(event: Event, session: AsyncSession, tx: Transaction, conn: AsyncConnection) -> None:
            assert tx.session is session
            session.add(Order(payment=f"{event.key}_session"))
            await conn.execute(insert(Order).values(payment=f"{event.key}_conn"))
            await tx.execute("INSERT INTO shop_order VALUES ($1)", f"{event.key}_tx")
            tx.stage(mail, number=1)

    tester = shop.tester()
    for number in range(12):
        for _ in range(2):
            await tester.deliver("stripe", TYPE, id=f"evt_{number}")
    await tester.drain(effects=True)
    expected = [f"evt_{number}_{way}" for number in range(12) for way in ("session", "conn", "tx")]
    assert shop.orders() == sorted(expected)
    assert mails == [1] * 12
    assert checked_out(shop.engine) == 0


async def test_a_handler_that_fails_twice_writes_once(shop: Shop) -> None:
    attempts: list[int] = []

    def judged(event: Event) -> None:
        attempts.append(event.attempt)
        if event.attempt < 3:
            raise ZeroDivisionError

    if shop.stack in BLOCKING:

        @shop.inbox.on("stripe", TYPE)
        def create_order(event: Event, session: Session) -> None:
            session.add(Order(payment=event.key))
            session.commit()
            judged(event)

    else:

        @shop.inbox.on("stripe", TYPE)
        async def create_order_too(event: Event, session: AsyncSession) -> None:
            session.add(Order(payment=event.key))
            await session.commit()
            judged(event)

    tester = shop.tester()
    await tester.deliver("stripe", TYPE, id="evt_1")
    for _ in range(3):
        await tester.drain(raises=False)
        tester.travel(hours=1)
    assert attempts == [1, 2, 3]
    assert shop.orders() == ["evt_1"]


async def test_a_thread_past_its_deadline_is_tried_again_and_writes_once(blocking_shop: Shop) -> None:
    shop, goes_on, time = blocking_shop, threading.Event(), LoopTime()

    @shop.inbox.on("stripe", TYPE, deadline=PATIENCE_SECONDS)
    def create_order(event: Event, session: Session) -> None:
        session.add(Order(payment=event.key))
        session.flush()
        if event.attempt == 1:
            time.move(PATIENCE_SECONDS)
            goes_on.wait(PATIENCE_SECONDS)
            session.add(Order(payment="late"))
            session.flush()

    tester = shop.tester()
    await tester.deliver("stripe", TYPE, id="evt_1")
    with pytest.raises(Exception, match="deadline"):
        await tester.drain()
    goes_on.set()
    tester.travel(hours=1)
    await tester.drain()
    assert shop.orders() == ["evt_1"]
