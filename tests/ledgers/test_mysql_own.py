"""What only a ledger on MySQL has to show: deadlocks, statements that would commit, servers that go, and storms."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator
from typing import Any

import aiomysql
import pymysql
import pytest
from sqlalchemy import make_url
from sqlalchemy.exc import DBAPIError

from landfast import Inbox
from landfast.domain.errors import (
    CommitUnknownError,
    ConfigError,
    HandlerEndedTransactionError,
    LedgerUnavailableError,
    ReceiptBusyError,
    SwallowedDatabaseError,
    UserError,
)
from landfast.domain.fault import Fault
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers.mysql import faults
from landfast.recovery.doctor import Level, examine_ledger
from landfast.testing.conformance.ledger.desk import DEADLINE, key, order, orders, receipt_count, transaction
from tests.ledgers.mysql_desks import ON_MYSQL, StackOnMysql, mysql_desk, mysql_engine
from tests.ledgers.session_handlers import Given, attempt, process, run
from tests.ledgers.stacks import checked_out, ledger_on
from tests.mariadb import MariaDb
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy

PATIENCE = PATIENCE_SECONDS
"""Seconds until a test gives up on something that takes milliseconds."""


@pytest.fixture(params=ON_MYSQL)
async def desk(request: pytest.FixtureRequest, mariadb: MariaDb, mariadb_database: str) -> AsyncIterator[StackOnMysql]:
    async with mysql_desk(request.param, mariadb.url(mariadb_database)) as desk:
        yield desk


async def kill_others(desk: StackOnMysql) -> None:
    """All but Landfast's own few and this one."""
    kept = {seat._connection.thread_id() for seat in desk.ledger._desk._seats if seat._connection}
    for (thread,) in await desk.look(
        "SELECT id FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()"
    ):
        if thread not in kept:
            with contextlib.suppress(Exception):
                await desk.change(f"KILL {thread}")


async def asks_to_sleep(desk: StackOnMysql) -> None:
    query = "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(600%'"
    async with asyncio.timeout(PATIENCE):
        while await desk.look(query) == [(0,)]:
            await asyncio.sleep(0.01)


async def meet_in_a_deadlock(desk: StackOnMysql, *, swallows: bool) -> list[BaseException | None]:
    """Two handlers that take the same two rows, each the other's first. What became of either."""
    await desk.change("INSERT INTO shop_line VALUES ('a'), ('b')")
    await desk.change("ALTER TABLE shop_line ADD PRIMARY KEY (payment)")
    both = threading.Barrier(2)

    def takes(first: str, second: str) -> Any:
        async def handler(given: Given) -> None:
            await given.execute(f"UPDATE shop_line SET payment = payment WHERE payment = '{first}' LIMIT 1")
            await given.execute(f"SELECT * FROM shop_line WHERE payment = '{first}' FOR UPDATE")
            await asyncio.to_thread(both.wait, PATIENCE) if not given.is_blocking else both.wait(PATIENCE)
            with contextlib.suppress(Exception if swallows else ZeroDivisionError):
                await given.execute(f"SELECT * FROM shop_line WHERE payment = '{second}' FOR UPDATE")

        return handler

    return list(
        await asyncio.gather(attempt(desk, takes("a", "b"), name="evt_1"), attempt(desk, takes("b", "a"), name="evt_2"))
    )


async def test_the_victim_of_a_deadlock_runs_again_without_a_counted_attempt(desk: StackOnMysql) -> None:
    failed = [each for each in await meet_in_a_deadlock(desk, swallows=False) if each is not None]
    assert [desk.ledger.diagnose(each) for each in failed] == [Fault.CONFLICT]
    assert await receipt_count(desk) == 1
    assert checked_out(desk.engine) == 0


async def test_a_handler_that_swallows_a_deadlock_keeps_nothing(desk: StackOnMysql) -> None:
    failed = [each for each in await meet_in_a_deadlock(desk, swallows=True) if each is not None]
    assert len(failed) == 1
    assert isinstance(failed[0], SwallowedDatabaseError), failed
    assert desk.ledger.diagnose(failed[0]) is Fault.CONFLICT
    assert await receipt_count(desk) == 1
    assert checked_out(desk.engine) == 0


async def test_a_lock_that_the_handler_waits_for_in_vain_is_a_conflict(desk: StackOnMysql) -> None:
    await desk.change("INSERT INTO shop_order VALUES ('held')")
    async with transaction(await desk.another()) as holder:
        await holder.handle.fetch("SELECT * FROM shop_order WHERE payment = 'held' FOR UPDATE")

        async def handler(given: Given) -> None:
            await given.execute("SET SESSION innodb_lock_wait_timeout = 1")
            await given.execute("SELECT * FROM shop_order WHERE payment = 'held' FOR UPDATE")

        failed = await attempt(desk, handler)
    assert failed is not None
    assert desk.ledger.diagnose(failed) is Fault.CONFLICT


@pytest.mark.parametrize(
    "statement", ["CREATE TABLE t (i INT)", "TRUNCATE TABLE shop_order", "LOCK TABLES shop_order WRITE"]
)
async def test_a_statement_that_would_commit_is_not_sent(desk: StackOnMysql, statement: str) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.execute(statement)

    failed = await attempt(desk, handler)
    assert isinstance(failed, HandlerEndedTransactionError)
    assert "MySQL commits at it" in str(failed)
    assert (await orders(desk), await receipt_count(desk), checked_out(desk.engine)) == ([], 0, 0)
    assert await attempt(desk, Given.add) is None


async def test_an_engine_in_autocommit_is_a_ledger_like_any_other(mariadb: MariaDb, mariadb_database: str) -> None:
    async with mysql_desk("sync pymysql", mariadb.url(mariadb_database), isolation_level="AUTOCOMMIT") as desk:

        async def handler(given: Given) -> None:
            await given.add()
            assert await given.outsider_sees(desk) == []
            raise LookupError

        assert isinstance(await attempt(desk, handler), LookupError)
        assert (await orders(desk), await receipt_count(desk)) == ([], 0)
        assert await attempt(desk, Given.add) is None
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


async def test_a_connection_goes_back_to_its_pool_with_the_settings_that_it_came_with(desk: StackOnMysql) -> None:
    asked = "SELECT @@innodb_lock_wait_timeout, @@wait_timeout, @@tx_isolation"
    before: list[Any] = []

    async def look(given: Given) -> None:
        before.append((await given.execute(asked)).one())

    await attempt(desk, look)
    ours = before[0]
    assert ours[1] == DEADLINE + 5, "void: nothing was set"
    if desk.stack == "aiomysql":
        async with desk.engine.connect() as connection:  # type: ignore[union-attr]
            after = tuple((await connection.exec_driver_sql(asked)).one())
    else:
        with desk.engine.connect() as connection:  # type: ignore[union-attr]
            after = tuple(connection.exec_driver_sql(asked).one())
    assert after == (50, 28800, "REPEATABLE-READ")


async def test_what_a_handler_kept_of_its_connection_is_of_no_use_after_its_end(desk: StackOnMysql) -> None:
    kept: list[Any] = []

    async def keeps(given: Given) -> None:
        connection = given.scope.handle.connection
        assert isinstance(connection, aiomysql.Connection if desk.stack == "aiomysql" else pymysql.Connection)
        cursor = await given.do(connection.cursor())
        await given.do(cursor.execute("INSERT INTO shop_order VALUES ('pay_1')"))
        kept.extend([cursor.execute, connection.query, connection.ping, connection.commit])

    async def goes_on(given: Given) -> None:
        await given.add("pay_2")
        for use in kept[:2]:
            with pytest.raises(UserError, match="has ended"):
                await given.do(use("INSERT INTO shop_order VALUES ('never')"))
        for use in kept[2:]:
            with pytest.raises((UserError, HandlerEndedTransactionError, pymysql.Error)):
                await given.do(use())

    assert await attempt(desk, keeps) is None
    assert await attempt(desk, goes_on, name="evt_2") is None
    assert await orders(desk) == ["pay_1", "pay_2"]
    assert checked_out(desk.engine) == 0


async def test_a_thread_that_still_waits_for_an_answer_fails_the_attempt(mariadb: MariaDb, desk: StackOnMysql) -> None:
    """PyMySQL would take the answer to its statement for that to our COMMIT."""
    if desk.stack == "aiomysql":
        return  # which says so itself
    threads: list[threading.Thread] = []

    async def leaves(given: Given) -> None:
        await given.add()
        connection = given.scope.handle.connection

        def sleeps() -> None:
            with contextlib.suppress(Exception):
                connection.query("SELECT SLEEP(600)")

        threads.append(threading.Thread(target=sleeps))
        threads[0].start()
        while not mariadb.execute("SELECT 1 FROM information_schema.processlist WHERE info = 'SELECT SLEEP(600)'"):
            threads[0].join(0.01)

    failed = await attempt(desk, leaves)
    assert isinstance(failed, HandlerEndedTransactionError)
    assert "still running" in str(failed)
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    threads[0].join(PATIENCE)
    assert not threads[0].is_alive()


async def test_a_table_that_cannot_roll_back_is_warned_of_and_ours_must_not_be_one(desk: StackOnMysql) -> None:
    await desk.change("CREATE TABLE old_orders (i INT) ENGINE = MyISAM")
    (caution,) = [each for each in await desk.ledger.cautions() if "old_orders" in each]
    assert "MyISAM" in caution and "ALTER TABLE old_orders ENGINE = InnoDB" in caution
    told = {check.found: check for check in await examine_ledger(desk.ledger)}
    (warned,) = [check for found, check in told.items() if "old_orders" in found]
    assert (warned.level, warned.fix) == (Level.WARN, "ALTER TABLE old_orders ENGINE = InnoDB")
    assert await desk.ledger.hazards() == []
    await desk.change("ALTER TABLE landfast_erasure ENGINE = Aria")
    (hazard,) = await desk.ledger.hazards()
    assert "landfast_erasure" in hazard and "ENGINE = InnoDB" in hazard


async def test_a_server_whose_commits_a_crash_undoes_is_refused(mariadb: MariaDb, desk: StackOnMysql) -> None:
    mariadb.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 2")
    try:
        (hazard,) = await desk.ledger.hazards()
        assert "innodb_flush_log_at_trx_commit = 2" in hazard and "set it to 1" in hazard
        with pytest.raises(ConfigError, match="a crash could undo a COMMIT"):
            await ledger_on(mysql_engine(desk.stack, desk.dsn)).open()
    finally:
        mariadb.execute("SET GLOBAL innodb_flush_log_at_trx_commit = 1")


async def test_an_engine_that_cannot_write_every_name_is_refused(mariadb: MariaDb, mariadb_database: str) -> None:
    async with mysql_desk("sync pymysql", f"{mariadb.url(mariadb_database)}?charset=latin1") as desk:
        with pytest.raises(ConfigError, match="charset=utf8mb4"):
            await desk.ledger.begin(deadline=DEADLINE)
        assert checked_out(desk.engine) == 0


async def test_a_migration_that_was_cut_short_is_taken_up_again(desk: StackOnMysql) -> None:
    await desk.change("DROP TABLE landfast_erasure")
    await desk.change("DELETE FROM landfast_ledger_migration")
    assert await process(desk, desk.ledger, "pay_1") is None
    assert await desk.ledger.migrate() == ["0001_ledger", "0002_lane_memory", "0003_steps", "0004_arrivals"]
    assert await desk.ledger.problems() == []
    assert await receipt_count(desk) == 1


@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE])
async def test_a_lost_answer_to_commit_is_unknown_and_the_receipt_tells(desk: StackOnMysql, fate: Fate) -> None:
    address = make_url(desk.dsn)
    assert address.port
    async with Proxy(address.port).running() as proxy:
        ledger = ledger_on(mysql_engine(desk.stack, str(address.set(port=proxy.port).render_as_string(False))), seed=3)
        await ledger.open()
        tx = await ledger.begin(deadline=DEADLINE)
        await tx.reserve([key()])
        await run(desk, tx, Given.add)
        proxy.strike(b"XA COMMIT", fate)
        with pytest.raises(CommitUnknownError):
            await tx.commit(results=(), effects=())
        await tx.rollback()
        answer = await process(desk, ledger, "pay_2")
        happened = fate is Fate.CUT_AFTER
        assert answer == (Receipt(key(), Outcome.DONE) if happened else None)
        assert await orders(desk) == ["pay_1" if happened else "pay_2"]
        await ledger.close()


async def test_a_connection_that_is_killed_is_the_infrastructures_fault(desk: StackOnMysql) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        if given.is_blocking:
            asyncio.run(kill_others(desk))
        else:
            await kill_others(desk)
        await given.add("pay_2")

    failed = await attempt(desk, handler)
    assert failed is not None
    assert desk.ledger.diagnose(failed) is Fault.INFRASTRUCTURE
    assert (await orders(desk), await receipt_count(desk), checked_out(desk.engine)) == ([], 0, 0)
    assert await attempt(desk, Given.add) is None


async def test_connections_that_died_in_the_pool_cost_no_attempt(desk: StackOnMysql) -> None:
    open_ = [await desk.ledger.begin(deadline=DEADLINE) for _ in range(3)]
    for tx in open_:
        await tx.rollback()
    await kill_others(desk)
    assert await attempt(desk, Given.add) is None
    assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


async def test_a_handler_that_overruns_in_a_statement_frees_its_receipt(desk: StackOnMysql) -> None:
    """The server would go on with the statement, and hold the receipt until it ends."""
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])

    async def sleeps(given: Given) -> None:
        await given.add()
        await given.execute("SELECT SLEEP(600)")

    sleeping = asyncio.create_task(run(desk, tx, sleeps))
    await asks_to_sleep(desk)
    async with asyncio.timeout(PATIENCE):
        if desk.stack == "aiomysql":
            sleeping.cancel()
            await asyncio.wait({sleeping})
        await tx.rollback()  # of a lane it does not wait for the thread
        while await is_still_held(desk):
            pass
        with contextlib.suppress(Exception, asyncio.CancelledError):
            await sleeping
        while checked_out(desk.engine):
            await asyncio.sleep(0.01)
    assert await orders(desk) == ["pay_2"]


async def is_still_held(desk: StackOnMysql) -> bool:
    try:
        assert await process(desk, desk.ledger, "pay_2") is None
    except ReceiptBusyError:
        return True
    return False


async def test_many_workers_that_meet_at_the_same_receipts_make_one_order_each(desk: StackOnMysql) -> None:
    ledgers = [desk.ledger, await desk.another()]

    async def come_through(number: int) -> bool:
        ledger, name = ledgers[number % 2], f"evt_{number % 5}"
        async with transaction(ledger) as tx:
            (there,) = await tx.reserve([key(name)])
            if there is None:
                await order(tx, f"{name}_by_{number}")
                if rolled_back and rolled_back.pop():
                    return False
                await tx.commit(results=(), effects=())
        return True

    async def one(number: int) -> None:
        while True:
            try:
                if await come_through(number):
                    return
            except ReceiptBusyError:
                continue
            except pymysql.MySQLError as error:
                if desk.ledger.diagnose(error) is not Fault.CONFLICT:
                    raise

    rolled_back = [True] * 8
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*(one(number) for number in range(30)))
    assert sorted(payment.partition("_by")[0] for payment in await orders(desk)) == [f"evt_{n}" for n in range(5)]
    assert await receipt_count(desk) == 5


async def test_closing_waits_until_the_last_connection_is_back(desk: StackOnMysql) -> None:
    """It goes back after COMMIT's caller went on. One that was missed stayed open when its loop was gone."""
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    await tx.commit(results=(), effects=())
    before = checked_out(desk.engine)
    await desk.ledger.close()
    assert (checked_out(desk.engine), before) == (0, 1 if desk.stack == "aiomysql" else 0)
    await desk.ledger.open()


async def test_a_server_that_is_away_is_told_without_the_password(mariadb: MariaDb) -> None:
    url = mariadb.url("test_none").replace(f":{mariadb.port}/", ":1/")
    with pytest.raises(LedgerUnavailableError, match="does not answer") as caught:
        await ledger_on(mysql_engine("aiomysql", url)).open()
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError, match="the database's name"):
        await ledger_on(mysql_engine("aiomysql", mariadb.url("no_such_database"))).open()


def test_an_error_is_judged_by_its_number() -> None:
    """Also one that SQLAlchemy has wrapped, or that was raised from it. No server is asked."""
    judged = {
        Fault.CONFLICT: [1213, 1205, 1020, 1614],
        Fault.INFRASTRUCTURE: [2006, 2013, 2003, 1040, 1053, 1290, 1114, 0],
        Fault.SCHEMA: [1146, 1054],
        Fault.OTHER: [1062, 1452, 1406, 3819],
    }
    for fault, numbers in judged.items():
        for number in numbers:
            plain = pymysql.err.OperationalError(number, "so it is")
            wrapped = DBAPIError("INSERT", {}, plain)
            raised = RuntimeError("in the handler")
            raised.__cause__ = wrapped
            assert [faults.diagnose(each) for each in (plain, wrapped, raised)] == [fault] * 3, number
    given_up = pymysql.err.OperationalError(1399, "XAER_RMFAIL: ... in the  ROLLBACK ONLY state")
    assert faults.diagnose(given_up) is Fault.CONFLICT
    assert faults.diagnose(pymysql.err.OperationalError(1399, "... in the  ACTIVE state")) is Fault.OTHER


def test_an_address_is_understood_and_a_missing_driver_is_named(tmp_path: Any) -> None:
    def driver(address: str) -> Any:
        return Inbox(store=str(tmp_path / "inbox.db"), ledger=address).settings.ledger_driver

    assert driver("mysql://me:hunter2@db/shop").runs == {"async"}
    assert driver("mariadb+aiomysql://me:hunter2@db/shop").runs == {"async"}
    assert driver("mysql+pymysql://me:hunter2@db/shop").runs == {"sync"}
    with pytest.raises(ConfigError, match=r"'asyncmy' is no driver .*mysql\+aiomysql:// or mysql\+pymysql://"):
        driver("mysql+asyncmy://me:hunter2@db/shop")


async def test_a_ledger_by_its_address_works_like_one_on_an_engine(
    mariadb: MariaDb, mariadb_database: str, tmp_path: Any
) -> None:
    inbox = Inbox(store=str(tmp_path / "inbox.db"), ledger=mariadb.url(mariadb_database, driver="aiomysql"))
    await inbox.migrate()
    async with inbox.stores() as stores:
        assert await stores.ledger.problems() == []
        async with transaction(stores.ledger) as tx:
            await tx.reserve([key()])
            assert await tx.given.given("session").connection()
            await tx.commit(results=(), effects=())
