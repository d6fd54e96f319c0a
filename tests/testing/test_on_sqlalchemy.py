"""The test kit on an engine of the user's: handlers get their sessions from it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, create_engine, func, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from landfast import Event, Inbox
from landfast.domain.errors import ConfigError, UserError
from landfast.testing import BlockingInboxTester, InboxTester
from tests.testing.conftest import PAID


class Base(DeclarativeBase): ...


class Order(Base):
    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    event: Mapped[str]


@pytest.fixture
def shop(tmp_path: Path) -> Inbox:
    (tmp_path / "landfast.toml").touch()
    engine = create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/real.db")
    inbox = Inbox(tmp_path / "landfast.toml", store=str(tmp_path / "landfast.db"), ledger=engine)
    inbox.source("stripe", provider="stripe", secrets=["env:NOT_SET_IN_TESTS"])

    @inbox.on("stripe", PAID)
    async def create_order(event: Event, session: AsyncSession) -> None:
        session.add(Order(event=event.key))

    return inbox


@pytest.fixture
def landfast_ledger(tmp_path: Path) -> AsyncEngine:
    return create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/test.db")


@pytest.fixture
async def engine(landfast_ledger: AsyncEngine) -> AsyncIterator[AsyncEngine]:
    async with landfast_ledger.begin() as connection:
        await connection.run_sync(Base.metadata.create_all)
    yield landfast_ledger
    await landfast_ledger.dispose()


async def count(engine: AsyncEngine) -> int:
    async with AsyncSession(engine) as session:
        return await session.scalar(select(func.count()).select_from(Order)) or 0


async def test_handlers_write_with_sessions_of_the_tests_engine(
    async_inbox: InboxTester, engine: AsyncEngine, tmp_path: Path
) -> None:
    async_inbox.crash_at("before commit")
    await async_inbox.deliver("stripe", PAID)
    await async_inbox.drain()
    await async_inbox.assert_handled_once("create_order")
    assert await count(engine) == 1
    await async_inbox.storm("stripe", PAID, times=5, events=5, workers=3, crashes=2)
    assert await count(engine) == 6
    assert not (tmp_path / "real.db").exists()


def test_a_def_test_uses_one_loop_for_the_engine_and_the_handlers(
    inbox: BlockingInboxTester, landfast_ledger: AsyncEngine, landfast_runner: asyncio.Runner
) -> None:
    async def prepare() -> None:
        async with landfast_ledger.begin() as connection:
            await connection.run_sync(Base.metadata.create_all)

    landfast_runner.run(prepare())
    inbox.deliver("stripe", PAID)
    inbox.drain()
    inbox.assert_handled_once("create_order")
    assert landfast_runner.run(count(landfast_ledger)) == 1
    landfast_runner.run(landfast_ledger.dispose())


def test_the_inboxs_own_engine_is_not_written_to_by_accident(shop: Inbox, tmp_path: Path) -> None:
    own = shop.settings.ledger.given
    for chosen, sentence in {
        None: "the tests do not say where they may write",
        getattr(own, "given", own): "that is the ledger that the inbox is configured with",
        create_async_engine(f"sqlite+aiosqlite:///{tmp_path}/real.db"): "that is the ledger that the inbox is",
    }.items():
        with pytest.raises(UserError, match=sentence):
            InboxTester(shop, tmp_path, ledger=chosen)
    with pytest.raises(ConfigError, match="has nothing to give for its parameter 'session'"):
        InboxTester(shop, tmp_path, ledger="sqlite")


class TestOnPostgres:
    """A `def` handler and a blocking engine: the kit's loop is in the test's thread, the transactions are in lanes."""

    @pytest.fixture
    def shop(self, tmp_path: Path) -> Inbox:
        (tmp_path / "landfast.toml").touch()
        never = create_engine("postgresql+psycopg://db.invalid/shop")
        inbox = Inbox(tmp_path / "landfast.toml", store=str(tmp_path / "landfast.db"), ledger=never)
        inbox.source("stripe", provider="stripe", secrets=["env:NOT_SET_IN_TESTS"])

        @inbox.on("stripe", PAID)
        def create_order(event: Event, session: Session) -> None:
            session.add(Order(event=event.key))

        return inbox

    @pytest.fixture
    def landfast_ledger(self, database: str) -> Iterator[Engine]:
        engine = create_engine(database.replace("postgresql:", "postgresql+psycopg:"))
        Base.metadata.create_all(engine)
        yield engine
        engine.dispose()

    @pytest.mark.req("R52")
    def test_parallel_workers_with_crashes_make_each_order_once(
        self, inbox: BlockingInboxTester, landfast_ledger: Engine
    ) -> None:
        inbox.crash_at("after commit")
        inbox.deliver("stripe", PAID)
        inbox.drain()
        report = inbox.storm("stripe", PAID, times=10, events=10, workers=4, crashes=4)
        assert (report.stored, report.crashes) == (10, 4)
        inbox.assert_handled_once("create_order")
        with Session(landfast_ledger) as session:
            assert session.scalar(select(func.count()).select_from(Order)) == 11
