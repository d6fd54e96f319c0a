"""The PostgreSQL ledger when the server, the network or the worker fails in the middle."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast
from urllib.parse import urlsplit

import asyncpg
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
from landfast.ledgers.postgres import PostgresLedger
from landfast.ledgers.postgres.transaction import PostgresTransaction
from landfast.ledgers.postgres.wire import AsyncpgWire
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import key, order, orders, process, receipt_count, reserve, transaction
from tests.ledgers.conftest import PostgresDesk
from tests.ledgers.loop_time import LoopTime
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy
from tests.servers import Postgres

PATIENCE = PATIENCE_SECONDS
"""Seconds until a test gives up on something that takes milliseconds."""


@asynccontextmanager
async def through_a_proxy(
    desk: PostgresDesk, alter: Callable[[bytes], bytes] = lambda said: said
) -> AsyncIterator[tuple[PostgresLedger, Proxy]]:
    address = urlsplit(desk.dsn)
    assert address.port
    async with Proxy(address.port, alter=alter).running() as proxy:
        dsn = f"postgresql://postgres@127.0.0.1:{proxy.port}{address.path}?sslmode=disable"
        ledger = PostgresLedger(dsn, clock=ManualClock(), chance=SeededChance(3), pool=2)
        await ledger.open()
        try:
            yield ledger, proxy
        finally:
            await ledger.close()


async def settled(desk: PostgresDesk) -> None:
    """Wait until the server has no transaction open: an orphaned COMMIT has happened, or has not."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    async with asyncio.timeout(PATIENCE):
        while await desk.look(query) != [(1,)]:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE])
async def test_a_lost_answer_to_commit_is_unknown_and_the_receipt_tells(
    postgres_desk: PostgresDesk, fate: Fate
) -> None:
    desk = postgres_desk
    async with through_a_proxy(desk) as (ledger, proxy):
        async with transaction(ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            proxy.strike(b"COMMIT\0", fate)
            with pytest.raises(CommitUnknownError):
                await tx.commit(results=(), effects=())
        await settled(desk)
        happened = fate is Fate.CUT_AFTER
        assert (len(await orders(desk)), await receipt_count(desk)) == (happened, happened)
        # The next claim looks at the receipt, on a connection that works.
        answer = await process(ledger, key(), "pay_2")
        assert answer == (Receipt(key(), Outcome.DONE) if happened else None)
        assert await orders(desk) == ["pay_1" if happened else "pay_2"]


@pytest.mark.parametrize("how", ["cancelled", "timeout"])
async def test_a_commit_that_is_given_up_on_is_unknown_and_its_connection_is_thrown_away(
    postgres_desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    desk, time = postgres_desk, LoopTime()
    monkeypatch.setattr(limits, "ANSWER_WAIT", PATIENCE)
    async with through_a_proxy(desk) as (ledger, proxy):
        async with transaction(ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            connection = cast(AsyncpgWire, cast(PostgresTransaction, tx.tx)._wire)._connection
            proxy.strike(b"COMMIT\0", Fate.SILENCE)
            committing = asyncio.create_task(tx.commit(results=(), effects=()))
            await proxy.struck.wait()
            await settled(desk)  # or what we send as we give up overtakes it
            if how == "cancelled":
                committing.cancel()
            await time.run_out(committing, PATIENCE)
            with pytest.raises(CommitUnknownError):
                await committing
            await tx.rollback()
            with pytest.raises(asyncpg.InterfaceError):
                await connection.execute("SELECT 1")
        await settled(desk)
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)
        assert await process(ledger, key(), "pay_2") == Receipt(key(), Outcome.DONE)


@pytest.mark.req("R24")
@pytest.mark.parametrize("words", [b"COMMIT", b"pg_advisory_xact_lock"])
async def test_a_start_that_nobody_answers_any_more_ends_and_can_be_tried_again(
    postgres_desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch, words: bytes
) -> None:
    """A worker that waited for ever here would never be ready, and nobody would start another."""
    monkeypatch.setattr(limits, "ANSWER_WAIT", PATIENCE)
    time = LoopTime()
    async with through_a_proxy(postgres_desk) as (ledger, proxy):
        proxy.strike(words, Fate.SILENCE)
        migrating = asyncio.create_task(ledger.migrate())
        async with asyncio.timeout(PATIENCE):
            await proxy.struck.wait()
        await time.run_out(migrating, PATIENCE)
        with pytest.raises(LedgerUnavailableError):
            await migrating
        async with asyncio.timeout(PATIENCE):
            await ledger.migrate()


async def test_behind_a_pooler_nothing_is_prepared_and_directly_it_is(postgres_desk: PostgresDesk) -> None:
    desk, prepared = postgres_desk, "SELECT count(*) FROM pg_prepared_statements WHERE name <> ''"
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        assert await tx.handle.fetchval(prepared) > 0
    async with through_a_proxy(desk, alter=a_pid_of_the_poolers_own) as (ledger, _), transaction(ledger) as tx:
        await tx.reserve([key()])
        assert await tx.handle.fetchval(prepared) == 0


def a_pid_of_the_poolers_own(said: bytes) -> bytes:
    """BackendKeyData, as PgBouncer would make it up."""
    at = said.find(b"K\0\0\0\x0c")
    return said if at < 0 else said[: at + 5] + b"\x7f\0\0\1" + said[at + 9 :]


async def test_a_backend_that_is_killed_inside_a_handler_is_the_infrastructures_fault(
    postgres_desk: PostgresDesk,
) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        pid = await tx.handle.fetchval("SELECT pg_backend_pid()")
        await desk.change(f"SELECT pg_terminate_backend({pid}, 5000)")
        with pytest.raises(Exception) as caught:
            await order(tx, "pay_2")
        assert desk.ledger.diagnose(caught.value) is Fault.INFRASTRUCTURE
        with pytest.raises(LedgerUnavailableError):
            await tx.commit(results=(), effects=())
    assert await process(desk.ledger, key(), "pay_3") is None
    assert await orders(desk) == ["pay_3"]


async def test_a_restarted_server_is_used_again(postgres_desk: PostgresDesk, postgres: Postgres) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        await asyncio.to_thread(postgres.restart)
        with pytest.raises(LedgerUnavailableError):
            await tx.commit(results=(), effects=())
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await process(desk.ledger, key(), "pay_2") is None
                break
            except LedgerUnavailableError:
                continue  # a pooled connection that had not heard of it yet
    assert await orders(desk) == ["pay_2"]


@pytest.mark.req("R24")
async def test_a_stopped_worker_with_an_open_receipt_does_not_hold_up_its_successor(
    postgres_desk: PostgresDesk,
) -> None:
    desk, silence = postgres_desk, "idle_in_transaction_session_timeout"
    stopped = await desk.ledger.begin(deadline=PATIENCE)
    await stopped.reserve([key()])
    handle = (await stopped.scope()).handle
    await handle.execute("INSERT INTO shop_order VALUES ('pay_1')")
    allowed = await handle.fetchval("SELECT setting::float / 1000 FROM pg_settings WHERE name = $1", silence)
    assert allowed == PATIENCE + limits.STOPPED_GRACE
    successor = await desk.another()
    await handle.execute(f"SET LOCAL {silence} = '100ms'")  # and now all of it is over
    # The server ends the silent transaction. Usually that is within the second that we wait for its receipt.
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await process(successor, key(), "pay_2") is None
                break
            except ReceiptBusyError:
                continue
    with pytest.raises(LedgerUnavailableError):
        await stopped.commit(results=(), effects=())
    await stopped.rollback()
    assert await orders(desk) == ["pay_2"]


async def test_handlers_that_hold_every_connection_do_not_hold_up_the_rest(postgres_desk: PostgresDesk) -> None:
    ledger = postgres_desk.ledger
    held = [await ledger.begin(deadline=PATIENCE_SECONDS) for _ in range(4)]
    assert await ledger.receipts([key().digest]) == []
    assert (await ledger.counts()).keys()
    for tx in held:
        await tx.rollback()


async def test_a_statement_that_the_handler_left_running_is_the_handlers_fault(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        running = asyncio.create_task(tx.handle.fetchval("SELECT pg_sleep(600)"))
        await asyncio.sleep(0)
        with pytest.raises(HandlerEndedTransactionError, match="still running"):
            await tx.check()
        with pytest.raises(HandlerEndedTransactionError, match="still running"):
            await tx.commit(results=(), effects=())
    with pytest.raises(asyncpg.PostgresError):
        await running
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    assert await reserve(await desk.another(), key("evt_2")) == [None]
