"""The promise of the receipt-first transaction, on both stores: writes happen once, whatever the handler does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.domain.errors import LedgerUnavailableError
from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, WorkerId, event_id, receipt_digest, token
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.verdict import GiveUp, RetryLater
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop

INSERT = "INSERT INTO orders (key, amount) VALUES ($1, $2)"


def receipt_key(shop: Shop, key: str, handler: str = "create_order", run: int = 1) -> ReceiptKey:
    return ReceiptKey(receipt_digest(shop.inbox_id, "stripe", key), HandlerName(handler), run)


async def insert(event: Event, tx: Any) -> None:
    await tx.execute(INSERT, event.key, event.data["amount"])


@pytest.fixture
def create_order(shop: Shop) -> None:
    shop.on(name="create_order")(insert)


@pytest.mark.req("R20", "R6")
@pytest.mark.usefixtures("create_order")
async def test_an_event_is_processed_once_however_often_it_is_delivered(shop: Shop) -> None:
    for _ in range(3):
        await shop.deliver("evt_1", "evt_2", "evt_1")
        await shop.drain()
    assert await shop.orders() == ["evt_1", "evt_2"]
    assert await shop.states() == {State.DONE: 2}


@pytest.mark.req("R20")
async def test_a_def_handler_writes_on_the_same_transaction(shop: Shop) -> None:
    @shop.on()
    def create_order(event: Event, tx: Any) -> dict[str, int]:
        tx.execute(INSERT, event.key, 1)
        try:
            with tx.savepoint():
                tx.execute(INSERT, "undone", 1 / 0 if tx.execute(INSERT, "undone", 1) else 0)
        except ZeroDivisionError:
            tx.fetchval("SELECT 1")  # the transaction lives
        assert tx.fetchval("SELECT count(*) FROM orders") == 1
        assert tx.fetchrow("SELECT key FROM orders")["key"] == event.key
        assert len(tx.fetch("SELECT key FROM orders")) == 1
        assert tx.connection is not None
        return {"orders": 1}

    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.orders() == ["evt_1"]


@pytest.mark.req("R20")
@pytest.mark.parametrize("statements_after_it", [0, 2])
async def test_a_statement_that_was_not_awaited_fails_the_attempt_instead_of_being_lost(
    shop: Shop, statements_after_it: int
) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        tx.execute(INSERT, "forgotten", 1)
        for _ in range(statements_after_it):
            await tx.fetch("SELECT 1")

    await shop.deliver("evt_1")
    await shop.drain()
    assert "tx.execute(...) was not awaited" in (await shop.show("evt_1")).summary.message
    assert await shop.orders() == []


async def test_a_failed_attempt_is_logged_with_its_event_and_what_follows(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    @shop.on(attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        raise KeyError("customer")

    await shop.deliver("evt_1")
    await shop.settle_down()
    told = [record.message for record in caplog.records if record.name == "landfast"]
    lines = [line for line in told if line.startswith("handler_failed")]
    assert len(lines) == 2
    assert "key=evt_1" in lines[0] and "attempt=1/2" in lines[0] and "KeyError at test_exactly_once.py:" in lines[0]
    assert "retry in" in lines[0] and "dead letter" in lines[1]


@pytest.mark.req("R22")
async def test_what_a_handler_returns_is_stored_with_its_receipt(shop: Shop) -> None:
    @shop.on()
    async def create_order(event: Event, tx: Any) -> dict[str, str]:
        return {"order": event.key}

    await shop.deliver("evt_1")
    await shop.drain()
    [receipt] = await shop.ledger.receipts([receipt_key(shop, "evt_1").digest])
    assert receipt.outcome is Outcome.DONE and receipt.result == b'{"order":"evt_1"}'


@pytest.mark.parametrize("result", [object(), "x" * 70_000])
async def test_a_result_that_cannot_be_stored_fails_the_attempt_and_writes_nothing(shop: Shop, result: object) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> object:
        await insert(event, tx)
        return result

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert await shop.orders() == [] and await shop.state("evt_1") is State.DEAD


@pytest.mark.req("R20")
async def test_a_failed_attempt_leaves_nothing_and_the_next_one_writes_once(shop: Shop) -> None:
    calls: list[int] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        calls.append(event.attempt)
        await insert(event, tx)
        if event.attempt < 3:
            raise RuntimeError("not yet")

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert calls == [1, 2, 3] and await shop.orders() == ["evt_1"]
    lines = [attempt for line in (await shop.show("evt_1")).history for attempt in line.attempts]
    assert [(line.number, line.outcome) for line in lines] == [(1, "retry"), (2, "retry"), (3, "done")]
    assert "RuntimeError: not yet" in lines[0].trace


@pytest.mark.req("R23")
async def test_verdicts_decide_at_once(shop: Shop) -> None:
    @shop.on("give.up")
    async def give_up(event: Event, tx: Any) -> None:
        raise GiveUp("no such customer")

    @shop.on("later", attempts=2)
    async def later(event: Event, tx: Any) -> None:
        raise RetryLater("not yet", after=500)

    await shop.deliver("evt_1", type_="give.up")
    await shop.deliver("evt_2", type_="later")
    await shop.drain()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.error, summary.handler) == (
        State.DEAD,
        "gave_up",
        "GiveUp",
        "give_up",
    )
    assert await shop.state("evt_2") is State.DELAYED
    await shop.advance(499)
    await shop.drain()
    assert await shop.state("evt_2") is State.DELAYED
    await shop.advance(2)
    await shop.drain()
    assert (await shop.show("evt_2")).summary.reason == "attempts_exhausted"


@pytest.mark.req("R23")
async def test_a_wait_of_four_days_is_waited_and_not_charged(shop: Shop) -> None:
    waited: list[str] = []

    @shop.on("later")
    async def later(event: Event, tx: Any) -> None:
        if event.attempt < 3:
            raise RetryLater("closed until Monday", after=4 * 86_400)
        waited.append(event.key)

    await shop.deliver("evt_1", type_="later")
    for _ in range(3):
        await shop.drain()
        await shop.advance(4 * 86_400 + 1)
    assert waited == ["evt_1"]
    assert await shop.state("evt_1") is State.DONE


async def test_a_body_that_no_handler_can_be_given_is_a_dead_letter_with_its_reason(shop: Shop) -> None:
    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        raise AssertionError("never called")

    await shop.deliver("evt_1", body=b'{"id":1,"id":2}')
    await shop.deliver("evt_2", body=b"\xff")
    await shop.drain()
    one, two = (await shop.show("evt_1")).summary, (await shop.show("evt_2")).summary
    assert (one.state, one.reason, two.state) == (State.DEAD, "malformed_body", State.DEAD)
    assert "id" in one.message


async def test_an_event_without_a_handler_waits_until_a_worker_brings_one(shop: Shop) -> None:
    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.UNHANDLED
    shop.on("order.*", name="create_order")(insert)
    await shop.drain()
    assert await shop.orders() == ["evt_1"] and (await shop.show("evt_1")).summary.run == 1


@pytest.mark.req("R20")
async def test_each_of_several_handlers_has_its_own_receipt_and_a_retry_runs_only_the_one_without(shop: Shop) -> None:
    calls: list[str] = []
    shop.on(name="create_order")(insert)

    @shop.on()
    async def tell_crm(event: Event, tx: Any) -> None:
        calls.append(event.key)
        await insert(event, tx)
        if len(calls) < 2:
            raise RuntimeError("CRM away")

    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.orders() == ["evt_1"] and await shop.state("evt_1") is State.DELAYED
    await shop.settle_down()
    assert await shop.orders() == ["evt_1", "evt_1"] and calls == ["evt_1", "evt_1"]


async def test_an_event_is_dead_if_one_of_its_handlers_is_but_only_when_the_others_have_ended(shop: Shop) -> None:
    tries: list[int] = []

    @shop.on()
    async def hopeless(event: Event, tx: Any) -> None:
        raise GiveUp("never")

    @shop.on()
    async def slow_start(event: Event, tx: Any) -> None:
        tries.append(1)
        if len(tries) < 2:
            raise RuntimeError("not yet")
        await insert(event, tx)

    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.DELAYED
    await shop.settle_down()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.handler) == (State.DEAD, "gave_up", "hopeless")
    assert await shop.orders() == ["evt_1"]


@pytest.mark.req("R26")
async def test_a_replay_skips_handlers_that_are_done_unless_it_is_forced(shop: Shop) -> None:
    calls: list[tuple[str, int]] = []

    @shop.on(attempts=1)
    async def broken_at_first(event: Event, tx: Any) -> None:
        calls.append(("broken", event.run))
        if event.run == 1:
            raise RuntimeError("a bug")

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        calls.append(("order", event.run))
        await insert(event, tx)

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DEAD
    assert await shop.inbox.replay([event_id("stripe", "evt_1")], forced=False, who="ana") == 1
    await shop.settle_down()
    assert calls == [("broken", 1), ("order", 1), ("broken", 2)] and await shop.orders() == ["evt_1"]
    await shop.inbox.replay([event_id("stripe", "evt_1")], forced=False, who="ana")
    await shop.settle_down()
    assert len(calls) == 3
    await shop.inbox.replay([event_id("stripe", "evt_1")], forced=True, who="ana")
    await shop.settle_down()
    assert calls[3:] == [("broken", 4), ("order", 4)] and await shop.orders() == ["evt_1", "evt_1"]


@pytest.mark.req("R20")
async def test_a_zombie_and_its_successor_meet_at_the_receipt(shop: Shop) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    @shop.on(deadline=60.0)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        entered.set()
        await go_on.wait()

    await shop.deliver("evt_1")
    zombie = asyncio.create_task(shop.drain())
    await entered.wait()
    await shop.advance(31)  # its lease is over, and it does not know
    successor = asyncio.create_task(shop.drain())
    await asyncio.sleep(0)
    go_on.set()
    await asyncio.gather(zombie, successor)
    await shop.settle_down()
    assert await shop.orders() == ["evt_1"] and await shop.state("evt_1") is State.DONE


@pytest.mark.req("R24")
@pytest.mark.usefixtures("create_order")
async def test_a_crash_after_the_commit_and_before_the_settle_only_settles(shop: Shop) -> None:
    await shop.deliver("evt_1")
    [claim] = await shop.inbox.claim(token=token(WorkerId(b"crashing"), 1), lease=30, limit=1)
    tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await tx.reserve([receipt_key(shop, "evt_1")]) == [None]
    await (await tx.scope()).handle.execute(INSERT, "evt_1", 1)
    await tx.commit(results=[], effects=[])
    assert await shop.inbox.abandon(worker=WorkerId(b"crashing")) == 1
    await shop.settle_down()
    assert await shop.orders() == ["evt_1"] and await shop.state("evt_1") is State.DONE
    assert claim.run == 1


@pytest.mark.usefixtures("create_order")
async def test_a_tombstone_against_a_late_commit_leaves_exactly_one_of_them(shop: Shop) -> None:
    await shop.deliver("evt_1")
    key = receipt_key(shop, "evt_1")
    [stands] = await shop.ledger.bury([Receipt(key, Outcome.DEAD, b'{"reason":"crash_loop"}')])
    assert stands.outcome is Outcome.DEAD
    await shop.settle_down()
    assert await shop.orders() == [] and (await shop.show("evt_1")).summary.reason == "crash_loop"
    tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
    [found] = await tx.reserve([key])
    await tx.rollback()
    assert found is not None and found.outcome is Outcome.DEAD


@pytest.mark.usefixtures("create_order")
async def test_to_bury_what_somebody_finished_after_all_finds_it_done(shop: Shop) -> None:
    await shop.deliver("evt_1")
    for number in range(1, 6):  # five crashes in a row, the last of them after its commit
        claim = (
            (await shop.inbox.claim(token=token(WorkerId(b"crashing"), number), lease=30, limit=1))[0]
            if number == 1
            else await shop.inbox.claim_suspect(token=token(WorkerId(b"crashing"), number), lease=30)
        )
        assert claim is not None
        if number == 5:
            tx = await shop.ledger.begin(deadline=PATIENCE_SECONDS)
            await tx.reserve([receipt_key(shop, "evt_1")])
            await (await tx.scope()).handle.execute(INSERT, "evt_1", 1)
            await tx.commit(results=[], effects=[])
        await shop.inbox.abandon(worker=WorkerId(b"crashing"))
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DONE and await shop.orders() == ["evt_1"]


async def test_a_stale_failure_changes_nothing_for_the_next_owner(shop: Shop) -> None:
    from landfast.domain.outcome import Settlement

    shop.on(name="create_order")(insert)
    await shop.deliver("evt_1")
    [claim] = await shop.inbox.claim(token=token(WorkerId(b"sleeping"), 1), lease=30, limit=1)
    await shop.advance(31)
    await shop.drain()
    late = Settlement(claim.event_id, claim.run, claim.token, Signal.RETRY, due_in=60)
    assert await shop.inbox.settle([late]) == [False]
    assert await shop.state("evt_1") is State.DONE


@pytest.mark.usefixtures("create_order")
async def test_a_ledger_that_is_away_costs_no_attempt_and_claims_stop(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(**_: Any) -> Any:
        raise LedgerUnavailableError("the ledger is away")

    await shop.deliver(*(f"evt_{n}" for n in range(5)))
    worker = shop.worker()
    with monkeypatch.context() as patch:
        patch.setattr(shop.ledger, "begin", away)
        await worker.drain()
    assert worker.breakers.infrastructure.is_open and "away" in worker.breakers.infrastructure.why
    await shop.settle_down()
    assert await shop.states() == {State.DONE: 5}
    attempts = [a for n in range(5) for line in (await shop.show(f"evt_{n}")).history for a in line.attempts]
    assert [attempt.number for attempt in attempts] == [1] * 5
