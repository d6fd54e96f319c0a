"""Handlers that write through a session of SQLAlchemy's, on each of its stacks."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from landfast import Event, Inbox
from landfast.proving import Kind
from tests.proving.planted import line_of


class Model(orm.DeclarativeBase):
    pass


class Line(Model):
    __tablename__ = "line"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    order_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("orders.id"))
    what: orm.Mapped[str]


class Order(Model):
    """With defaults that are drawn and read from a clock, but not by the handler."""

    __tablename__ = "orders"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    payment: orm.Mapped[str]
    reference: orm.Mapped[str] = orm.mapped_column(default=lambda: uuid.uuid4().hex)
    made_at: orm.Mapped[datetime] = orm.mapped_column(sa.DateTime(timezone=True), default=lambda: datetime.now(UTC))
    lines: orm.Mapped[list[Line]] = orm.relationship()


class Account(Model):
    __tablename__ = "account"
    id: orm.Mapped[str] = orm.mapped_column(primary_key=True)
    balance: orm.Mapped[int]


ENGINES: dict[str, Any] = {}
"""For handlers that open a session of their own."""


async def adds(event: Event, session: AsyncSession) -> None:
    session.add(Order(payment=event.key, lines=[Line(what="ticket"), Line(what="tour")]))


async def flushes(event: Event, session: AsyncSession) -> None:
    order = Order(payment=event.key)
    session.add(order)
    await session.flush()
    session.add(Line(order_id=order.id, what="ticket"))
    await session.commit()


async def locks(event: Event, session: AsyncSession) -> None:
    account = await session.get_one(Account, "shop", with_for_update=True)
    account.balance += 1


async def reads_and_writes(event: Event, session: AsyncSession) -> None:
    # mistake: reads_and_writes
    account = await session.get_one(Account, "shop")
    account.balance += 1


async def own_session(event: Event, session: AsyncSession) -> None:
    async with AsyncSession(ENGINES["async"]) as mine:
        mine.add(Order(payment=event.key))
        # mistake: own_session
        await mine.commit()
    await session.execute(sa.text("SELECT 1"))


async def rolls_back(event: Event, session: AsyncSession) -> None:
    session.add(Order(payment=event.key))
    await session.flush()
    # mistake: rolls_back
    await session.rollback()


async def draws(event: Event, session: AsyncSession) -> None:
    session.add(Order(payment=event.key, reference=uuid.uuid4().hex))
    # mistake: draws
    await session.flush()


async def swallows(event: Event, session: AsyncSession) -> None:
    try:
        # mistake: swallows
        await session.execute(sa.insert(Order).values(payment=event.key))
    except sa.exc.SQLAlchemyError:
        print("never mind")


def adds_blocking(event: Event, session: orm.Session) -> None:
    session.add(Order(payment=event.key, lines=[Line(what="ticket"), Line(what="tour")]))


def reads_and_writes_blocking(event: Event, session: orm.Session) -> None:
    # mistake: reads_and_writes_blocking
    account = session.get_one(Account, "shop")
    account.balance += 1


def own_session_blocking(event: Event, session: orm.Session) -> None:
    with orm.Session(ENGINES["blocking"]) as mine:
        mine.add(Order(payment=event.key))
        # mistake: own_session_blocking
        mine.commit()
    session.execute(sa.text("SELECT 1"))


ASYNC: dict[Callable[..., Any], Kind | None] = {
    adds: None,
    flushes: None,
    locks: None,
    reads_and_writes: Kind.LOST_UPDATE,
    own_session: Kind.OUTSIDE_WRITE,
    rolls_back: Kind.ENDS_TRANSACTION,
    draws: Kind.CHANCE,
    swallows: Kind.SWALLOWED_ERROR,
}
BLOCKING: dict[Callable[..., Any], Kind | None] = {
    adds_blocking: None,
    reads_and_writes_blocking: Kind.LOST_UPDATE,
    own_session_blocking: Kind.OUTSIDE_WRITE,
}


@pytest.fixture(params=["postgresql", "sqlite"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a database with tables and an account; as SQLAlchemy writes it, for a blocking engine."""
    if request.param == "postgresql":
        address = request.getfixturevalue("database").replace("postgresql:", "postgresql+psycopg:")
    else:
        address = f"sqlite:///{tmp_path / 'shop.db'}"
    engine = sa.create_engine(address)
    Model.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Account(id="shop", balance=100))
        session.commit()
    engine.dispose()
    return str(address)


@pytest.fixture
async def waiting(address: str) -> AsyncIterator[AsyncEngine]:
    engine = create_async_engine(address.replace("+psycopg:", "+asyncpg:").replace("sqlite:", "sqlite+aiosqlite:"))
    ENGINES["async"] = engine
    yield engine
    async with engine.connect() as connection:  # it leads to the user's own database again
        assert await connection.scalar(sa.text("SELECT count(*) FROM account")) == 1
    await engine.dispose()


def check(engine: Any, address: str, function: Callable[..., Any], kind: Kind | None) -> None:
    inbox = Inbox(store="nothing-is-stored.db", ledger=engine)
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])
    inbox.on("stripe", "payment_intent.succeeded")(function)
    report = inbox.prove(function)
    expected = None if kind is Kind.LOST_UPDATE and address.startswith("sqlite") else kind  # it has one writer
    found = {each.kind: each.place.line for each in report.findings}
    assert found == ({expected: line_of(function.__name__, __file__)} if expected else {}), str(report)
    look = sa.create_engine(address)
    with orm.Session(look) as session:
        assert session.scalar(sa.select(sa.func.count()).select_from(Order)) == 0
        assert session.get_one(Account, "shop").balance == 100
    look.dispose()


@pytest.mark.req("R64")
@pytest.mark.parametrize("function", ASYNC, ids=lambda function: function.__name__)
async def test_an_async_session_is_followed(waiting: AsyncEngine, address: str, function: Callable[..., Any]) -> None:
    check(waiting, address, function, ASYNC[function])


@pytest.mark.req("R64")
@pytest.mark.parametrize("function", BLOCKING, ids=lambda function: function.__name__)
def test_a_blocking_session_is_followed(address: str, function: Callable[..., Any]) -> None:
    engine = sa.create_engine(address)
    ENGINES["blocking"] = engine
    check(engine, address, function, BLOCKING[function])
    engine.dispose()


@pytest.mark.req("R64")
@pytest.mark.parametrize("function", BLOCKING, ids=lambda function: function.__name__)
def test_a_session_on_psycopg2_is_followed(database: str, function: Callable[..., Any]) -> None:
    address = database.replace("postgresql:", "postgresql+psycopg2:")
    engine = sa.create_engine(address)
    ENGINES["blocking"] = engine
    Model.metadata.create_all(engine)
    with orm.Session(engine) as session:
        session.add(Account(id="shop", balance=100))
        session.commit()
    check(engine, address, function, BLOCKING[function])
    engine.dispose()
