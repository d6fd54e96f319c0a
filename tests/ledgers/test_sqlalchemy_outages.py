"""Ledgers on SQLAlchemy when the server, the network or the worker fails in the middle."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from landfast.domain.errors import (
    CommitUnknownError,
    HandlerEndedTransactionError,
    LedgerUnavailableError,
    ReceiptBusyError,
)
from landfast.domain.fault import Fault
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers import limits
from landfast.testing.conformance.ledger.desk import DEADLINE, key, orders, receipt_count
from tests.ledgers.loop_time import LoopTime
from tests.ledgers.session_handlers import Given, attempt, process, run
from tests.ledgers.stacks import BLOCKING, ON_POSTGRES, StackOnPostgres, checked_out, desk_on, engine_on, ledger_on
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy

PATIENCE = PATIENCE_SECONDS
"""Seconds until a test gives up on something that takes milliseconds."""

KILL_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@pytest.fixture(params=ON_POSTGRES)
async def desk(request: pytest.FixtureRequest, migrated_database: str) -> AsyncIterator[StackOnPostgres]:
    async with desk_on(request.param, migrated_database) as desk:
        assert isinstance(desk, StackOnPostgres)
        yield desk


@asynccontextmanager
async def through_a_proxy(desk: StackOnPostgres) -> AsyncIterator[tuple[Any, Proxy]]:
    address = urlsplit(desk.dsn)
    assert address.port
    async with Proxy(address.port).running() as proxy:
        dsn = f"postgresql://postgres@127.0.0.1:{proxy.port}{address.path}?{_without_tls(desk.stack)}"
        ledger = ledger_on(engine_on(desk.stack, dsn), seed=3)
        await ledger.open()
        try:
            yield ledger, proxy
        finally:
            await ledger.close()


def _without_tls(stack: str) -> str:
    return "ssl=disable" if stack == "asyncpg" else "sslmode=disable"


async def settled(desk: StackOnPostgres) -> None:
    """Wait until the server has no transaction open: an orphaned COMMIT has happened, or has not."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    async with asyncio.timeout(PATIENCE):
        while await desk.look(query) != [(1,)]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE])
async def test_a_lost_answer_to_commit_is_unknown_and_the_receipt_tells(desk: StackOnPostgres, fate: Fate) -> None:
    async with through_a_proxy(desk) as (ledger, proxy):
        tx = await ledger.begin(deadline=DEADLINE)
        await tx.reserve([key()])
        await run(desk, tx, Given.add)
        proxy.strike(b"COMMIT\0", fate)
        with pytest.raises(CommitUnknownError):
            await tx.commit(results=(), effects=())
        await tx.rollback()
        await settled(desk)
        happened = fate is Fate.CUT_AFTER
        assert (len(await orders(desk)), await receipt_count(desk)) == (happened, happened)
        answer = await process(desk, ledger, "pay_2")
        assert answer == (Receipt(key(), Outcome.DONE) if happened else None)
        assert await orders(desk) == ["pay_1" if happened else "pay_2"]


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
async def test_a_commit_that_is_given_up_on_is_unknown(
    desk: StackOnPostgres, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    time = LoopTime()
    monkeypatch.setattr(limits, "ANSWER_WAIT", PATIENCE)
    async with through_a_proxy(desk) as (ledger, proxy):
        tx = await ledger.begin(deadline=DEADLINE)
        await tx.reserve([key()])
        await run(desk, tx, Given.add)
        proxy.strike(b"COMMIT\0", Fate.SILENCE)
        committing = asyncio.create_task(tx.commit(results=(), effects=()))
        await proxy.struck.wait()
        await settled(desk)  # or what we send as we give up overtakes it
        if how == "cancelled":
            committing.cancel()
        await time.run_out(committing, PATIENCE)
        with pytest.raises(CommitUnknownError):
            await committing
        await time.run_out(asyncio.create_task(tx.rollback()), PATIENCE)  # a thread may still wait
        await settled(desk)
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)
        assert await process(desk, ledger, "pay_2") == Receipt(key(), Outcome.DONE)


async def test_a_backend_that_is_killed_inside_a_handler_is_the_infrastructures_fault(desk: StackOnPostgres) -> None:
    async def handler(given: Given) -> None:
        await given.add()
        await given.outsider_does(desk, KILL_OTHERS)
        await given.add("pay_2")

    failed = await attempt(desk, handler)
    assert failed is not None
    assert desk.ledger.diagnose(failed) is Fault.INFRASTRUCTURE
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    assert checked_out(desk.engine) == 0
    assert await attempt(desk, Given.add) is None


async def test_a_backend_that_is_killed_after_the_handler_is_the_infrastructures_fault(desk: StackOnPostgres) -> None:
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    await run(desk, tx, Given.add)
    await desk.look(KILL_OTHERS)
    # A driver that learns of it only now has sent COMMIT along, and cannot tell how far the server came.
    with pytest.raises((LedgerUnavailableError, CommitUnknownError)):
        await tx.commit(results=(), effects=())
    await tx.rollback()
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    assert await attempt(desk, Given.add) is None


async def test_connections_that_died_in_the_pool_cost_no_attempt(desk: StackOnPostgres) -> None:
    open_ = [await desk.ledger.begin(deadline=DEADLINE) for _ in range(3)]
    for number, tx in enumerate(open_):
        await tx.reserve([key(f"evt_before_{number}")])  # before it there is no connection
    for tx in open_:
        await tx.rollback()
    await desk.look(KILL_OTHERS)
    assert await attempt(desk, Given.add) is None
    assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)


async def test_two_workers_meet_at_the_receipt(desk: StackOnPostgres) -> None:
    other = await desk.another()
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    second = await other.begin(deadline=DEADLINE)
    with pytest.raises(ReceiptBusyError):
        await second.reserve([key()])
    await second.rollback()
    await run(desk, tx, Given.add)
    await tx.commit(results=(), effects=())
    assert await process(desk, other, "pay_2") == Receipt(key(), Outcome.DONE)
    assert await orders(desk) == ["pay_1"]


async def test_a_handler_that_is_cancelled_in_a_statement_gives_its_receipt_back(desk: StackOnPostgres) -> None:
    if desk.stack in BLOCKING:
        pytest.skip("a thread is not cancelled")
    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    sleeping = asyncio.create_task(run(desk, tx, lambda given: given.execute("SELECT pg_sleep(600)")))
    await asks_to_sleep(desk)
    sleeping.cancel()
    async with asyncio.timeout(PATIENCE):
        with suppress(asyncio.CancelledError):
            await sleeping
        await tx.rollback()
    assert checked_out(desk.engine) == 0
    assert await attempt(desk, Given.add) is None


async def asks_to_sleep(desk: StackOnPostgres) -> None:
    query = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)%' AND pid <> pg_backend_pid()"
    async with asyncio.timeout(PATIENCE):
        while await desk.look(query) == [(0,)]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("where", ["SQL", "Python"])
async def test_a_lane_that_overran_frees_its_receipt_and_cleans_up_by_itself(desk: StackOnPostgres, where: str) -> None:
    if desk.stack not in BLOCKING:
        pytest.skip("there are no lanes on the loop")
    goes_on, outcome = threading.Event(), []

    async def handler(given: Given) -> None:
        try:
            await given.add()
            if where == "SQL":
                await given.execute("SELECT pg_sleep(600)")
            else:
                goes_on.wait(PATIENCE)
            await given.add("late")
        except Exception as error:
            outcome.append(error)
            raise

    tx = await desk.ledger.begin(deadline=DEADLINE)
    await tx.reserve([key()])
    running = asyncio.create_task(run(desk, tx, handler))
    if where == "SQL":
        await asks_to_sleep(desk)
    async with asyncio.timeout(PATIENCE):
        await tx.rollback()  # at the deadline: it does not wait for the thread
        # A server that is busy with a statement looks after its client every two seconds.
        while await is_still_held(desk):
            pass
        goes_on.set()
        with suppress(Exception):
            await running
        while checked_out(desk.engine):
            await asyncio.sleep(0.01)
    assert outcome
    assert await orders(desk) == ["pay_2"]
    assert await attempt(desk, Given.add, name="evt_2") is None


async def is_still_held(desk: StackOnPostgres) -> bool:
    try:
        assert await process(desk, desk.ledger, "pay_2") is None
    except ReceiptBusyError:
        return True
    return False


async def test_a_statement_that_a_timeout_of_the_handlers_cut_off_fails_the_attempt(desk: StackOnPostgres) -> None:
    if desk.stack in BLOCKING:
        pytest.skip("a thread is not cancelled")

    async def handler(given: Given) -> None:
        await given.add()
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await given.execute("SELECT pg_sleep(60)")

    failed = await attempt(desk, handler)
    assert isinstance(failed, HandlerEndedTransactionError)
    assert "was cut off" in str(failed)
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    assert checked_out(desk.engine) == 0
    assert await attempt(desk, Given.add) is None


async def test_a_task_that_is_left_running_on_the_session_is_told_as_what_it_is(desk: StackOnPostgres) -> None:
    if desk.stack != "asyncpg":
        pytest.skip("only asyncpg refuses a second statement")
    left: list[asyncio.Task[Any]] = []

    async def handler(given: Given) -> None:
        await given.add()
        left.append(asyncio.create_task(given.execute("SELECT pg_sleep(600)")))
        await asks_to_sleep(desk)

    failed = await attempt(desk, handler)
    assert "still running" in str(failed)
    with suppress(Exception):
        await left[0]
    assert checked_out(desk.engine) == 0
    assert await attempt(desk, Given.add) is None
