"""Ledgers on psycopg's pools when the server, the network, the deadline or the caller ends it in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import psycopg_pool
import pytest

from landfast.domain.errors import CommitUnknownError, ConfigError
from landfast.domain.fault import Fault
from landfast.ledgers import limits
from landfast.ledgers.postgres import foreign_errors
from landfast.ledgers.psycopg import AsyncPsycopgLedger
from landfast.ledgers.psycopg.address import address_of
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import key, orders, process, receipt_count
from landfast.thread_calls import finish
from tests.ledgers.psycopg_desks import SIZE, BlockingPsycopgDesk, PsycopgDesk
from tests.ledgers.psycopg_handlers import ENDED, Conn, attempt, is_as, run
from tests.ledgers.test_postgres_outages import settled
from tests.patience import PATIENCE_SECONDS
from tests.pgbouncer import PgBouncer
from tests.proxy import Fate, Proxy


@pytest.fixture(params=[PsycopgDesk, BlockingPsycopgDesk], ids=["async", "blocking"])
async def desk(request: pytest.FixtureRequest, migrated_database: str) -> AsyncIterator[PsycopgDesk]:
    made: PsycopgDesk = request.param(migrated_database)
    await made.open()
    yield made
    await made.close()


async def orders_one(conn: Conn) -> None:
    await conn.order()


async def test_a_killed_backend_is_the_infrastructures_fault(desk: PsycopgDesk) -> None:
    caught: list[BaseException] = []

    async def handler(conn: Conn) -> None:
        await conn.order()
        pid = conn.given.info.backend_pid
        killer = psycopg.connect(desk.dsn, autocommit=True)
        killer.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))
        killer.close()
        try:
            await conn.order("pay_2")
        except psycopg.Error as error:
            caught.append(error)

    assert await attempt(desk, handler) == "LedgerUnavailableError"
    assert foreign_errors.diagnose(caught[0]) is Fault.INFRASTRUCTURE
    await is_as(desk, kept=[])


async def test_idle_connections_that_the_server_has_closed_cost_no_attempt(desk: PsycopgDesk) -> None:
    for number in range(3):
        assert await process(desk.ledger, key(f"evt_{number}"), f"pay_{number}") is None
    await desk.look(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        " AND query NOT LIKE '%pg_backend_pid%'"
    )
    assert await process(desk.ledger, key("evt_9"), "pay_9") is None


async def test_leaving_in_a_hurry_gives_everything_back(desk: PsycopgDesk) -> None:
    """Cancelled while it begins, while it reserves, or right after."""
    for number in range(30):
        task = asyncio.create_task(_begin_and_stay(desk, number))
        for _ in range(number):
            await asyncio.sleep(0)
        # Again, if need be: psycopg waits by asyncio.wait_for, which on Python 3.11 loses a cancellation that comes with
        # the answer.
        while not task.done():
            task.cancel()
            await asyncio.wait([task], timeout=1)
        assert task.cancelled()
    await is_as(desk, kept=[])


async def _begin_and_stay(desk: PsycopgDesk, number: int) -> None:
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    try:
        await tx.reserve([key(f"evt_{number}")])
        await asyncio.Event().wait()
    finally:
        await tx.rollback()


async def test_a_deadline_in_a_statement_frees_the_receipt_at_once(desk: PsycopgDesk) -> None:
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key()])
    scope = await tx.scope()
    sleeping = Conn(scope.given("connection")).execute("SELECT pg_sleep(600)")
    if tx.lane is None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await sleeping
    else:
        call = tx.lane.start(lambda: finish(sleeping), is_async=False)
        await asyncio.wait({call.ended}, timeout=0.1)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await tx.rollback()
        while await attempt(desk, orders_one) == "ReceiptBusyError":
            pass
    await is_as(desk, kept=["pay_1"])


async def test_a_task_that_is_left_running_fails_the_attempt(migrated_database: str) -> None:
    desk = PsycopgDesk(migrated_database)
    await desk.open()
    tasks: list[asyncio.Task[Any]] = []

    async def handler(conn: Conn) -> None:
        await conn.order()
        tasks.append(asyncio.create_task(conn.given.execute("SELECT pg_sleep(600)")))
        await asyncio.sleep(0.05)

    assert await attempt(desk, handler) == ENDED
    await is_as(desk, kept=[])
    with pytest.raises(psycopg.OperationalError):
        await tasks[0]
    await desk.close()


@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE])
async def test_a_lost_answer_to_commit_is_unknown_and_the_receipt_tells(desk: PsycopgDesk, fate: Fate) -> None:
    address = urlsplit(desk.dsn)
    assert address.port
    async with Proxy(address.port).running() as proxy:
        dsn = f"postgresql://postgres@127.0.0.1:{proxy.port}{address.path}?sslmode=disable&gssencmode=disable"
        through = type(desk)(dsn)
        await through.ledger.open()
        tx = await through.ledger.begin(deadline=PATIENCE_SECONDS)
        await tx.reserve([key()])
        await run(tx, Conn((await tx.scope()).given("connection")).order())
        proxy.strike(b"COMMIT\0", fate)
        with pytest.raises(CommitUnknownError):
            await tx.commit(results=(), effects=())
        await tx.rollback()
        await settled(desk)
        happened = fate is Fate.CUT_AFTER
        assert (len(await orders(desk)), await receipt_count(desk)) == (happened, happened)
        await through.close()


async def test_who_is_cancelled_during_the_commit_does_not_know(desk: PsycopgDesk) -> None:
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key()])
    await run(tx, Conn((await tx.scope()).given("connection")).order())
    lock = psycopg.connect(desk.dsn)
    lock.execute(f"LOCK TABLE {desk.table('store_key')} IN ACCESS EXCLUSIVE MODE")  # which whoever stores results reads
    committing = asyncio.create_task(tx.commit(results=[(key(), b"1")], effects=()))
    await asyncio.wait({committing}, timeout=0.1)
    committing.cancel()
    with pytest.raises((CommitUnknownError, asyncio.CancelledError)):
        await committing
    lock.close()
    await tx.rollback()
    await settled(desk)
    assert len(await orders(desk)) == await receipt_count(desk)


@pytest.mark.parametrize("kind", [PsycopgDesk, BlockingPsycopgDesk])
async def test_behind_a_pooler_it_works_if_the_pool_prepares_nothing_and_is_refused_otherwise(
    kind: type[PsycopgDesk], migrated_database: str, pgbouncer: PgBouncer
) -> None:
    pooled = pgbouncer.dsn(migrated_database.rpartition("/")[2])
    desk = kind(migrated_database, pooled=pooled)
    with pytest.raises(ConfigError, match="prepare_threshold"):
        await desk.open()
    told = type("Told", (kind,), {"pool_options": {"prepare_threshold": None}})(migrated_database, pooled=pooled)
    await told.open()
    for number in range(12):  # more than psycopg's five, after which it prepares
        assert await process(told.ledger, key(f"evt_{number}"), f"pay_{number}") is None
    assert len(await orders(told)) == 12
    await told.close()


async def test_who_waits_behind_slow_handlers_is_told_of_no_outage(
    desk: PsycopgDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pool gives up on whoever waits for too long, as on a database that is away: all workers would stop."""
    slow = [await desk.ledger.begin(deadline=30) for _ in range(SIZE)]
    monkeypatch.setattr(limits, "ANSWER_WAIT", 0.3)
    waiting = asyncio.create_task(desk.ledger.begin(deadline=30))
    done, _ = await asyncio.wait([waiting], timeout=1.0)
    assert not done
    monkeypatch.undo()
    await slow.pop().rollback()
    async with asyncio.timeout(PATIENCE_SECONDS):
        slow.append(await waiting)
    given_up = asyncio.create_task(desk.ledger.begin(deadline=30))
    await asyncio.sleep(0)
    given_up.cancel()
    await asyncio.wait([given_up])
    for each in slow:
        await each.rollback()
    again = [await desk.ledger.begin(deadline=30) for _ in range(SIZE)]
    for each in again:
        await each.rollback()


async def test_a_pool_that_does_not_know_its_address_is_refused() -> None:
    pool = psycopg_pool.AsyncConnectionPool(lambda: "dbname=shop", open=False)
    with pytest.raises(ConfigError, match="a connection string"):
        AsyncPsycopgLedger(pool, clock=ManualClock(), chance=SeededChance())


@pytest.mark.parametrize(
    ("conninfo", "options", "address"),
    [
        ("postgresql://u:p%40@db:6000/shop", {}, "postgresql://u:p%40@db:6000/shop"),
        ("host=/run/pg dbname=shop user=u", {}, "postgresql://u@/shop?host=%2Frun%2Fpg"),
        ("dbname=shop", {"host": "db", "autocommit": True}, "postgresql://db/shop"),
        ("host=a,b port=1,2 dbname=s sslmode=require", {}, "postgresql:///s?sslmode=require&host=a%2Cb&port=1%2C2"),
    ],
)
def test_the_address_is_the_pools(conninfo: str, options: dict[str, Any], address: str) -> None:
    assert address_of(psycopg_pool.AsyncConnectionPool(conninfo, kwargs=options, open=False), "ledger") == address
