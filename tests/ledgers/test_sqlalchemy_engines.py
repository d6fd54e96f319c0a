"""Engines and sessions as users set them up: what a ledger makes of them, and what it refuses with a sentence."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pymysql
import pytest
from sqlalchemy import create_engine, event, select, text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker
from sqlalchemy.orm import Session, scoped_session, sessionmaker

from landfast import Inbox
from landfast.domain.errors import ConfigError, HandlerEndedTransactionError, UserError
from landfast.ledgers.brought import Brought
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders, receipt_count
from tests.ledgers.session_handlers import Given, Order, attempt, run
from tests.ledgers.stacks import BLOCKING, STACKS, checked_out, desk_on, engine_on, is_sqlite, ledger_on
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R20")


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """Of a database for the stack of the test."""

    def found(stack: str) -> str | Path:
        return tmp_path / "shop.db" if is_sqlite(stack) else str(request.getfixturevalue("migrated_database"))

    return found


@asynccontextmanager
async def instead(desk: Any, given: object) -> AsyncIterator[None]:
    """The desk's ledger is on what is given."""
    before, desk.ledger = desk.ledger, ledger_on(given, seed=5)
    await desk.ledger.open()
    try:
        yield
    finally:
        await desk.ledger.close()
        desk.ledger = before


@pytest.mark.parametrize("stack", STACKS)
async def test_an_autocommit_engine_is_as_safe_as_any(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack), isolation_level="AUTOCOMMIT") as desk:

        async def handler(given: Given) -> None:
            await given.add()
            assert await given.outsider_sees(desk) == []
            raise ZeroDivisionError

        assert isinstance(await attempt(desk, handler), ZeroDivisionError)
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)
        assert await attempt(desk, Given.add) is None
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


@pytest.mark.parametrize("stack", STACKS)
async def test_a_sessionmaker_gives_sessions_of_its_own_class_and_options(stack: str, where: Any) -> None:
    class Mine(Session):
        pass

    class MineToo(AsyncSession):
        sync_session_class = Mine

    async with desk_on(stack, where(stack)) as desk:
        engine: Any = desk.engine
        bound = {Order: engine}
        maker: Any = (
            sessionmaker(engine, class_=Mine, info={"mine": 1}, autoflush=False, binds=bound)
            if stack in BLOCKING
            else async_sessionmaker(engine, class_=MineToo, info={"mine": 1}, autoflush=False, binds=bound)
        )

        async def handler(given: Given) -> None:
            assert isinstance(given.session, Mine if stack in BLOCKING else MineToo)
            assert isinstance(getattr(given.session, "sync_session", given.session), Mine)
            assert given.session.info["mine"] == 1
            assert not given.session.autoflush
            await given.add()

        async with instead(desk, maker):
            assert await attempt(desk, handler) is None
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


@pytest.mark.parametrize("stack", ["asyncpg", "sync psycopg", "sync sqlite"])
@pytest.mark.parametrize("how", ["binds", "get_bind", "argument"])
async def test_a_statement_for_another_database_is_refused(stack: str, where: Any, tmp_path: Path, how: str) -> None:
    other = engine_on("aiosqlite" if stack == "asyncpg" else "sync sqlite", tmp_path / "other.db")
    inner: Any = getattr(other, "sync_engine", other)

    class Routing(Session):
        def get_bind(self, *args: Any, **kwargs: Any) -> Any:
            return inner if how == "get_bind" else super().get_bind(*args, **kwargs)

    async with desk_on(stack, where(stack)) as desk:
        binds: Any = {Order: other} if how == "binds" else {}
        engine: Any = desk.engine
        maker: Any = (
            sessionmaker(engine, class_=Routing, binds=binds)
            if stack in BLOCKING
            else async_sessionmaker(engine, sync_session_class=Routing, binds=binds)
        )

        async def handler(given: Given) -> None:
            if how == "argument":
                await given.do(given.session.execute(select(1), bind_arguments={"bind": inner}))
            await given.add()

        async with instead(desk, maker):
            failed = await attempt(desk, handler)
        assert isinstance(failed, UserError)
        assert "other.db" in str(failed)
        assert (await orders(desk), await receipt_count(desk), checked_out(desk.engine)) == ([], 0, 0)


@pytest.mark.parametrize("stack", BLOCKING)
async def test_a_scoped_session_is_the_handlers_own(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        engine: Any = desk.engine
        scoped = scoped_session(sessionmaker(engine))

        async def handler(given: Given) -> None:
            assert scoped() is given.session
            scoped.add(Order(payment="pay_1"))
            scoped.commit()
            scoped.remove()
            scoped.add(Order(payment="pay_2"))

        for ledger in (scoped, Brought(engine, scoped=scoped)):
            async with instead(desk, ledger):
                assert await attempt(desk, handler) is None
            assert (await orders(desk), await receipt_count(desk)) == (["pay_1", "pay_2"], 1)
            assert not scoped.registry.has()
            await desk.change("DELETE FROM shop_order")
            await desk.change(f"DELETE FROM {desk.table('receipt')}")
        scoped.remove()
        assert scoped() is not None
        scoped.remove()


@pytest.mark.parametrize("stack", STACKS)
async def test_a_commit_on_a_session_of_the_handlers_own_is_told(
    stack: str, where: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with desk_on(stack, where(stack)) as desk:
        engine: Any = desk.engine

        async def handler(given: Given) -> None:
            if stack in BLOCKING:
                with Session(engine) as own:
                    own.execute(text("SELECT 1"))
                    own.commit()
            else:
                async with AsyncSession(engine) as own_too:
                    await own_too.execute(text("SELECT 1"))
                    await own_too.commit()

        async def request() -> None:
            await handler(None)  # type: ignore[arg-type]

        context = asyncio.create_task(request())  # begun before any handler, as a request is
        with caplog.at_level(logging.WARNING):
            await context
            tx = await desk.ledger.begin(deadline=DEADLINE)
            await tx.reserve([key()])
            await asyncio.create_task(_elsewhere(request))
            assert "handler_committed_elsewhere" not in caplog.text
            await run(desk, tx, handler)
            await tx.commit(results=(), effects=())
            await tx.rollback()
        assert caplog.text.count("handler_committed_elsewhere") == 1
        assert "test_sqlalchemy_engines.py" in caplog.text
        assert "handler" in caplog.text


async def _elsewhere(request: Any) -> None:
    """In the context of a request: a handler's is not inherited by it."""
    from landfast.ledgers.sqlalchemy.noticing import RUNNING

    RUNNING.set(None)
    await request()


@pytest.mark.parametrize("stack", ["aiosqlite", "sync sqlite"])
async def test_a_write_on_a_connection_of_its_own_does_not_wait_for_itself_on_sqlite(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        engine: Any = desk.engine

        async def handler(_given: Given) -> None:
            if stack in BLOCKING:
                with Session(engine) as own:
                    own.add(Order(payment="own"))
                    own.commit()
            else:
                async with AsyncSession(engine) as own_too:
                    own_too.add(Order(payment="own"))
                    await own_too.commit()

        failed = await attempt(desk, handler)
        assert isinstance(failed, UserError)
        assert "it would wait for itself" in str(failed)
        assert await orders(desk) == []


@pytest.mark.parametrize("stack", ["asyncpg", "psycopg", "sync psycopg", "sync psycopg2"])
async def test_settings_of_one_event_do_not_reach_the_next_and_the_pools_own_stay(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        inner = getattr(desk.engine, "sync_engine", desk.engine)
        event.listen(inner, "connect", _set_time_zone)
        seen: list[Any] = []

        async def sets(given: Given) -> None:
            await given.execute("SET LOCAL statement_timeout = '1234ms'")
            await given.execute("SELECT set_config('app.tenant', 'one', true)")
            await given.scope.handle.execute("SET LOCAL TIME ZONE 'UTC'")

        async def looks(given: Given) -> None:
            seen.extend(
                [
                    (await given.execute(f"SELECT current_setting('{name}', true)")).scalar()
                    for name in ("statement_timeout", "TimeZone", "app.tenant")
                ]
            )

        for ending in ("commit", "rollback"):
            tx = await desk.ledger.begin(deadline=DEADLINE)
            await tx.reserve([key(ending)])
            await run(desk, tx, sets)
            await run(desk, tx, looks)
            if ending == "commit":
                await tx.commit(results=(), effects=())
            await tx.rollback()
        assert seen == ["0", "Asia/Tokyo", ""] * 2


def _set_time_zone(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("SET TIME ZONE 'Asia/Tokyo'")
    cursor.close()
    connection.commit()


@pytest.mark.parametrize("stack", ["aiosqlite", "sync sqlite"])
async def test_the_users_own_begin_hook_and_lazy_disk_are_reckoned_with(stack: str, where: Any) -> None:
    """SQLAlchemy's documentation has this recipe for savepoints on SQLite."""
    async with desk_on(stack, where(stack)) as desk:
        inner = getattr(desk.engine, "sync_engine", desk.engine)

        @event.listens_for(inner, "connect")
        def connected(connection: Any, _record: object) -> None:
            connection.isolation_level = None

        @event.listens_for(inner, "begin")
        def begun(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN")

        assert await attempt(desk, Given.add) is None
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sqlite3 has had autocommit= since Python 3.12")
@pytest.mark.parametrize("stack", ["aiosqlite", "sync sqlite"])
async def test_a_driver_that_is_always_in_a_transaction_is_as_good_as_any(stack: str, where: Any) -> None:
    """SQLAlchemy's documentation has this way to savepoints on SQLite, too. Such a driver says BEGIN after COMMIT."""
    async with desk_on(stack, where(stack), connect_args={"autocommit": False}) as desk:

        async def fails(given: Given) -> None:
            await given.add("never")
            raise ZeroDivisionError

        assert await attempt(desk, Given.add) is None
        assert isinstance(await attempt(desk, fails, name="evt_2"), ZeroDivisionError)
        assert await attempt(desk, lambda given: given.add("pay_2"), name="evt_2") is None
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1", "pay_2"], 2)


@pytest.mark.parametrize("stack", ["aiosqlite", "sync sqlite"])
async def test_a_lazy_disk_is_made_safe_for_our_commit_and_given_back_as_it_was(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        inner = getattr(desk.engine, "sync_engine", desk.engine)

        @event.listens_for(inner, "connect")
        def connected(connection: Any, _record: object) -> None:
            cursor = connection.cursor()
            cursor.execute("PRAGMA synchronous = NORMAL")
            cursor.close()

        seen: list[int] = []

        async def looks(given: Given) -> None:
            seen.append((await given.execute("PRAGMA synchronous")).scalar())

        assert await attempt(desk, looks) is None
        engine: Any = desk.engine
        with contextlib.ExitStack() as stack_:
            if hasattr(engine, "sync_engine"):
                async with engine.connect() as connection:
                    seen.append((await connection.execute(text("PRAGMA synchronous"))).scalar())
            else:
                blocking = stack_.enter_context(engine.connect())
                seen.append(blocking.execute(text("PRAGMA synchronous")).scalar())
        assert seen == [2, 1]


LONG = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000) SELECT max(i) FROM n"


@pytest.mark.parametrize("stack", ["aiosqlite", "sync sqlite"])
async def test_a_statement_past_its_deadline_is_interrupted_on_sqlite(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        began = threading.Event()

        async def handler(given: Given) -> None:
            began.set()
            await given.execute(LONG)

        tx = await desk.ledger.begin(deadline=DEADLINE)
        await tx.reserve([key()])
        running = asyncio.create_task(run(desk, tx, handler))
        await asyncio.to_thread(began.wait)
        async with asyncio.timeout(PATIENCE_SECONDS):
            if tx.lane is None:
                await asyncio.sleep(0)
                running.cancel()
                await asyncio.wait([running])
            await tx.rollback()
            await asyncio.gather(running, return_exceptions=True)
            assert await attempt(desk, Given.add) is None
        assert (await orders(desk), checked_out(desk.engine)) == (["pay_1"], 0)


async def test_three_events_of_a_group_that_add_to_one_row_add_three_times(where: Any) -> None:
    async with desk_on("asyncpg", where("asyncpg")) as desk:
        await desk.change("CREATE TABLE balance (id INTEGER PRIMARY KEY, amount INTEGER)")
        await desk.change("INSERT INTO balance VALUES (1, 0)")

        async def handler(given: Given) -> None:
            amount = (await given.execute("SELECT amount FROM balance")).scalar()
            await given.execute(f"UPDATE balance SET amount = {amount + 1}")

        tx = await desk.ledger.begin(deadline=DEADLINE)
        await tx.reserve([key(f"evt_{number}") for number in range(3)])
        for _ in range(3):
            await run(desk, tx, handler)
        await tx.commit(results=(), effects=())
        assert await desk.look("SELECT amount FROM balance") == [(3,)]


async def test_an_error_of_the_third_event_of_a_group_comes_at_the_third(where: Any) -> None:
    async with desk_on("asyncpg", where("asyncpg")) as desk:
        tx = await desk.ledger.begin(deadline=DEADLINE)
        await tx.reserve([key(f"evt_{number}") for number in range(4)])

        async def adds(payment: str) -> None:
            async def handler(given: Given) -> None:
                given.session.add(Order(payment=payment))

            await run(desk, tx, handler)

        await adds("pay_1")
        await adds("pay_2")
        with pytest.raises(Exception, match=r"IntegrityError|UniqueViolation"):
            await adds("pay_1")
        await tx.rollback()
        assert await orders(desk) == []


def test_what_cannot_be_a_ledger_is_refused_with_a_sentence(tmp_path: Path) -> None:
    def refused(given: Any, **options: Any) -> str:
        with pytest.raises(ConfigError) as caught:
            ledger_on(Inbox(store=str(tmp_path / "inbox.db"), ledger=given, **options).settings.ledger.given)
        return str(caught.value)

    assert "in memory" in refused(create_engine("sqlite://"))
    assert "desk=" in refused(create_engine("postgresql+psycopg2://", creator=lambda: None))
    assert "cannot join" in refused(create_engine("mssql+pymssql://host/shop", module=pymysql))
    assert "names no database" in refused(create_engine("mysql+pymysql://host"))
    assert "sessionmaker(engine)" in refused(sessionmaker())
    assert "is a dict" in refused({})
    with_desk = Brought(create_engine("postgresql+psycopg2://", creator=lambda: None), desk="postgresql://host/shop")
    assert ledger_on(with_desk)


def test_a_handler_of_the_other_colour_is_refused_when_it_is_registered(tmp_path: Path) -> None:
    async def waits(event: Any, session: AsyncSession) -> None: ...

    def blocks(event: Any, session: Session) -> None: ...

    def takes_the_wrong_one(event: Any, session: AsyncSession) -> None: ...

    def inbox(stack: str) -> Inbox:
        engine = engine_on(stack, tmp_path / "shop.db")
        made = Inbox(store=str(tmp_path / "inbox.db"), ledger=engine)
        made.source("stripe", provider="stripe", secrets=["whsec_" + "a" * 32])
        return made

    inbox("aiosqlite").on("stripe", "*")(waits)
    inbox("sync sqlite").on("stripe", "*")(blocks)
    with pytest.raises(ConfigError, match="write async def"):
        inbox("aiosqlite").on("stripe", "*")(blocks)
    with pytest.raises(ConfigError, match="write def"):
        inbox("sync sqlite").on("stripe", "*")(waits)
    with pytest.raises(ConfigError, match="session"):
        inbox("sync sqlite").on("stripe", "*")(takes_the_wrong_one)


async def test_a_pool_that_is_too_small_is_cautioned_about(where: Any) -> None:
    async with desk_on("asyncpg", where("asyncpg")) as desk:
        (caution,) = await desk.ledger.cautions()
        assert "raise pool_size" in caution


async def test_more_handlers_than_the_pool_has_connections_wait_for_each_other(where: Any) -> None:
    async with desk_on("asyncpg", where("asyncpg"), pool_timeout=0.1) as desk:
        open_ = [await desk.ledger.begin(deadline=DEADLINE) for _ in range(4)]
        fifth = asyncio.create_task(desk.ledger.begin(deadline=DEADLINE))
        await open_[0].rollback()
        tx = await fifth
        for each in (*open_[1:], tx):
            await each.rollback()
        assert checked_out(desk.engine) == 0


@pytest.mark.parametrize("stack", STACKS)
async def test_closing_waits_until_the_last_connection_is_back(stack: str, where: Any) -> None:
    async with desk_on(stack, where(stack)) as desk:
        tx = await desk.ledger.begin(deadline=DEADLINE)
        await tx.reserve([key()])
        await tx.commit(results=(), effects=())
        await desk.ledger.close()
        assert checked_out(desk.engine) == 0
        await desk.ledger.open()


def test_the_word_for_a_session_that_was_rolled_back_names_the_remedy() -> None:
    from landfast.ledgers.sqlalchemy import fences

    assert isinstance(fences.rolled_back(), HandlerEndedTransactionError)
    assert "begin_nested" in str(fences.rolled_back())
