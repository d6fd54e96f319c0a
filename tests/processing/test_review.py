"""What the review of the design found, a test each: the ways in which a correct-looking worker goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, receipt_digest
from landfast.domain.lifecycle import State
from landfast.domain.outcome import ReceiptKey
from landfast.ledgers import limits
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import INSERT, insert


def attempts_of(record: Any) -> list[tuple[str, int, str]]:
    return [(a.handler, a.number, a.outcome) for line in record.history for a in line.attempts]


@pytest.mark.req("R20")
async def test_a_renamed_receipt_column_stops_claims_and_doubles_nothing(shop: Shop) -> None:
    """A column was renamed at night: the dedup record cannot be written, so the order must not be either."""
    shop.on(name="create_order")(insert)
    await shop.sql(f"ALTER TABLE {shop.table('receipt')} RENAME COLUMN outcome TO result_code")
    await shop.deliver(*(f"evt_{n}" for n in range(10)))
    worker = shop.worker()
    for _ in range(3):
        await worker.drain()
        await shop.advance(2)
    assert worker.breakers.infrastructure.is_open
    assert await shop.orders() == []
    assert set(await shop.states()) <= {State.READY, State.DELAYED}
    await shop.sql(f"ALTER TABLE {shop.table('receipt')} RENAME COLUMN result_code TO outcome")
    await shop.settle_down()
    assert await shop.orders() == sorted(f"evt_{n}" for n in range(10))
    for n in range(10):
        assert attempts_of(await shop.show(f"evt_{n}")) == [("create_order", 1, "done")]


async def test_a_misspelt_column_in_one_handler_leaves_the_others_running(shop: Shop) -> None:
    shop.on("good", name="create_order")(insert)
    runs: list[str] = []

    @shop.on("bad", attempts=2)
    async def misspelt(event: Event, tx: Any) -> None:
        runs.append(event.key)
        await tx.execute("INSERT INTO orders (kee, amount) VALUES ($1, $2)" if len(runs) < 4 else INSERT, event.key, 1)

    await shop.deliver(*(f"bad_{n}" for n in range(20)), type_="bad")
    await shop.deliver(*(f"good_{n}" for n in range(20)), type_="good")
    worker = shop.worker()
    await worker.drain()
    assert worker.breakers.handlers[HandlerName("misspelt")].is_open
    assert not worker.breakers.infrastructure.is_open
    assert await shop.orders() == sorted(f"good_{n}" for n in range(20))
    assert len(runs) <= 3
    await shop.settle_down()
    assert await shop.states() == {State.DONE: 40}


@pytest.mark.req("R20")
async def test_a_handler_that_swallows_a_database_error_commits_nothing(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        try:
            await tx.execute("INSERT INTO no_such_table VALUES (1)")
        except Exception:  # noqa: BLE001 - what users do
            return

    await shop.deliver("evt_1")
    await shop.settle_down()
    if shop.store == "postgres":  # the server aborted the transaction: its COMMIT would be a silent ROLLBACK
        summary = (await shop.show("evt_1")).summary
        assert (summary.state, summary.error) == (State.DEAD, "SwallowedDatabaseError")
        assert await shop.orders() == []
    else:  # SQLite undoes the one statement only, so the rest may be committed
        assert await shop.orders() == ["evt_1"]


async def test_a_savepoint_lets_a_handler_catch_a_database_error(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        try:
            async with tx.savepoint():
                await tx.execute("INSERT INTO no_such_table VALUES (1)")
        except Exception:  # noqa: BLE001 - the point of a savepoint
            await tx.execute(INSERT, "fallback", 1)

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert await shop.orders() == ["evt_1", "fallback"]


@pytest.mark.req("R20")
@pytest.mark.parametrize("way", ["tx", "connection"])
async def test_a_savepoint_that_one_event_left_undoes_nothing_when_the_next_rolls_back_to_it(
    shop: Shop, way: str
) -> None:
    """Both are of one transaction, and the receipt of the first is older than its savepoint."""
    if (shop.store, way) == ("sqlite", "connection"):
        pytest.skip("a def handler has it, and no group")

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        on = tx if way == "tx" else tx.connection
        if event.key == "evt_1":
            await on.execute("SAVEPOINT mine")
        await insert(event, tx)
        if event.key == "evt_2":
            await on.execute("ROLLBACK TO SAVEPOINT mine")

    await shop.deliver("evt_1", "evt_2")
    await shop.settle_down()
    assert await shop.orders() == ["evt_1"]
    assert (await shop.show("evt_2")).summary.error == "UserError"


@pytest.mark.req("R20")
@pytest.mark.parametrize("statement", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("way", ["tx", "connection"])
async def test_a_handler_that_ends_its_transaction_itself_fails_and_commits_nothing(
    shop: Shop, statement: str, way: str
) -> None:
    @shop.on(attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if way == "tx":
            await tx.execute(statement)
        elif shop.store == "postgres":
            await tx.connection.execute(statement)
        else:
            tx.connection.execute(statement)

    shop.on("neighbour", name="neighbour")(insert)
    await shop.deliver("evt_1")
    await shop.deliver("evt_2", type_="neighbour")
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DEAD
    assert "evt_1" not in await shop.orders()


async def test_a_handler_that_rolls_back_and_begins_again_fails_too(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        for statement in ("ROLLBACK", "BEGIN", "INSERT INTO orders (key, amount) VALUES ('sneaked', 1)"):
            if shop.store == "postgres":
                await tx.connection.execute(statement)
            else:
                tx.connection.execute(statement)

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert await shop.orders() == [] and await shop.state("evt_1") is State.DEAD


async def test_a_deferred_constraint_that_fails_at_commit_is_a_failure_like_any_other(shop: Shop) -> None:
    await shop.sql("CREATE TABLE parent (id INTEGER PRIMARY KEY)")
    await shop.sql(
        "CREATE TABLE child (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent DEFERRABLE INITIALLY DEFERRED)"
    )

    @shop.on(attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key == "evt_bad":
            await tx.execute("INSERT INTO child VALUES (1, 99)")

    await shop.deliver(*(f"evt_{n}" for n in range(5)), "evt_bad")
    await shop.settle_down()
    assert await shop.orders() == [f"evt_{n}" for n in range(5)]
    record = await shop.show("evt_bad")
    assert record.summary.state is State.DEAD
    assert attempts_of(record) == [("create_order", 1, "retry"), ("create_order", 2, "dead")]


async def test_a_failing_event_in_a_group_of_200_does_not_hurt_its_neighbours(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key == "evt_117":
            raise RuntimeError("poison")

    keys = [f"evt_{n:03}" for n in range(200)]
    await shop.deliver(*keys)
    await shop.settle_down()
    assert await shop.orders() == [key for key in keys if key != "evt_117"]
    for key in keys[100:130]:
        outcome = "dead" if key == "evt_117" else "done"
        assert attempts_of(await shop.show(key)) == [("create_order", 1, outcome)]


async def test_handlers_that_are_slow_together_are_cut_into_smaller_transactions(shop: Shop) -> None:
    from landfast.processing.fairness.pace import Pace

    sizes: list[int] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        shop.clock.advance(0.02)
        sizes.append(await tx.fetchval("SELECT count(*) FROM orders"))

    await shop.deliver(*(f"evt_{n}" for n in range(12)))
    worker = shop.worker()
    claims = await shop.inbox.claim(token=worker._token(), lease=30, limit=12)
    settlements = await worker._execution.execute(claims, Pace(size=12))
    await shop.inbox.settle(settlements)
    assert len(await shop.orders()) == 12 and await shop.states() == {State.DONE: 12}
    [[transactions]] = await shop.sql(f"SELECT count(DISTINCT created_at) FROM {shop.table('receipt')}")
    assert transactions >= 4  # three of 20 ms fill the 50 ms of a transaction


@pytest.mark.parametrize("isolation", ["serializable", "repeatable read"])
async def test_handlers_under_strict_isolation_are_run_again_on_conflict_and_burn_no_attempt(
    postgres_shop: Shop, isolation: str
) -> None:
    shop = postgres_shop
    await shop.sql("CREATE TABLE counter (value INTEGER)")
    await shop.sql("INSERT INTO counter VALUES (0)")

    @shop.on(isolation=isolation, attempts=1, group=False)
    async def count(event: Event, tx: Any) -> None:
        value = await tx.fetchval("SELECT value FROM counter")
        await asyncio.sleep(0)
        await tx.execute("UPDATE counter SET value = $1", value + 1)

    shop.clock = SystemClock()  # type: ignore[assignment]
    await shop.deliver(*(f"evt_{n}" for n in range(30)))
    worker = shop.worker(hands=3)
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (await shop.states()) != {State.DONE: 30}:
            assert State.DEAD not in await shop.states()
            await asyncio.sleep(0.02)
    worker.stop()
    await running
    assert [row[0] for row in await shop.sql("SELECT value FROM counter")] == [30]


async def test_a_stopped_worker_that_holds_a_transaction_does_not_stall_its_successor(postgres_shop: Shop) -> None:
    """Its receipt is inserted and not committed, and it says nothing more: the server ends it, and the next goes on."""
    shop = postgres_shop
    shop.on(name="create_order")(insert)
    await shop.deliver("evt_1", "evt_2")
    stopped = shop.another_ledger()
    await stopped.open()
    tx = await stopped.begin(deadline=PATIENCE_SECONDS)
    digest = receipt_digest(shop.inbox_id, "stripe", "evt_1")
    assert await tx.reserve([ReceiptKey(digest, HandlerName("create_order"), 1)]) == [None]
    await shop.drain()
    assert await shop.orders() == ["evt_2"]
    assert await shop.state("evt_1") is State.DELAYED  # released, no attempt burnt
    silence = "idle_in_transaction_session_timeout"
    handle = (await tx.scope()).handle
    allowed = await handle.fetchval("SELECT setting::float / 1000 FROM pg_settings WHERE name = $1", silence)
    assert allowed == PATIENCE_SECONDS + limits.STOPPED_GRACE
    await handle.execute(f"SET LOCAL {silence} = '100ms'")  # and now all of it is over
    while await shop.state("evt_1") is not State.DONE:
        await shop.advance(2)
        await shop.drain()
    await tx.rollback()
    await stopped.close()
    assert await shop.orders() == ["evt_1", "evt_2"]
    assert attempts_of(await shop.show("evt_1")) == [("create_order", 1, "done")]


@pytest.mark.req("R3")
async def test_a_slow_handler_that_holds_the_ledger_does_not_delay_acknowledgements(shop: Shop) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    @shop.on(deadline=60.0)
    async def slow(event: Event, tx: Any) -> None:
        await insert(event, tx)
        entered.set()
        await go_on.wait()

    await shop.deliver("evt_1")
    draining = asyncio.create_task(shop.drain())
    await entered.wait()
    await asyncio.wait_for(shop.deliver(*(f"more_{n}" for n in range(50))), PATIENCE_SECONDS)
    assert not draining.done()
    go_on.set()
    await draining
    assert len(await shop.orders()) == 51
