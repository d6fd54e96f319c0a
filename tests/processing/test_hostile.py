"""What a hostile reader of this code found, a test each: how a worker could stall, double or die."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.effect import EffectState
from landfast.domain.errors import CommitUnknownError, InboxUnavailableError, LedgerUnavailableError, RowRefusedError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import BootId, HandlerName, Token, WorkerId, receipt_digest, token
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.intake.counting.tally import Tally
from landfast.processing import invoke
from landfast.processing.control import requeue
from landfast.processing.fairness.pace import Pace
from landfast.processing.handlers.registry import Registry
from landfast.recovery.proof import prove
from landfast.testing.clock import SeededChance
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_worker import running, until

DEAD = WorkerId(b"deadwork")


@pytest.fixture
def live(shop: Shop) -> Shop:
    """The shop with real time, for what runs until it is stopped."""
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.inbox._clock = shop.ledger._clock = shop.clock
    return shop


async def are_done(shop: Shop, count: int) -> bool:
    return (await shop.states()).get(State.DONE) == count


async def make_suspect(shop: Shop, key: str, **options: Any) -> None:
    await shop.deliver(key, **options)
    assert await shop.inbox.claim(token=token(DEAD, 1), lease=30, limit=1)
    await shop.inbox.abandon(worker=DEAD)


def once(function: Callable[..., Awaitable[Any]], error: Exception, *, after: bool = False) -> Callable[..., Any]:
    """The function, which fails the first time: before it did its work, or after."""
    failed: list[int] = []

    async def unsteady(*args: Any, **options: Any) -> Any:
        result = await function(*args, **options) if after or failed else None
        if not failed and (result or not after):
            failed.append(1)
            raise error
        return result

    return unsteady


async def test_after_an_outage_an_event_without_a_handler_does_not_stop_the_claims(live: Shop) -> None:
    live.on("order.created", name="create_order")(insert)
    async with running(live) as at_work:
        at_work.breakers.trip("the database restarts")
        await live.deliver("evt_unhandled", type_="nobody.handles.this")
        await until(lambda: states_are(live, {State.UNHANDLED: 1}), "the probe found it")
        await live.deliver("evt_good")
        await until(lambda: are_done(live, 1), "claims go on")


async def states_are(shop: Shop, wanted: dict[State, int]) -> bool:
    return await shop.states() == wanted


async def test_after_an_outage_a_lost_answer_to_commit_does_not_stop_the_claims(live: Shop) -> None:
    live.on("order.created", name="create_order")(insert)
    begin = live.ledger.begin
    lost: list[int] = []

    async def begin_and_lose_one(**options: Any) -> Any:
        tx = await begin(**options)
        commit = tx.commit

        async def commit_and_lose_one(**more: Any) -> None:
            await commit(**more)
            if not lost:
                lost.append(1)
                raise CommitUnknownError("the answer got lost")

        tx.commit = commit_and_lose_one
        return tx

    live.ledger.begin = begin_and_lose_one
    async with running(live) as at_work:
        at_work.breakers.trip("the database restarts")
        await live.deliver("evt_1", "evt_2", "evt_3")
        await until(lambda: are_done(live, 3), "all done")
    assert await live.orders() == ["evt_1", "evt_2", "evt_3"]


async def test_suspects_run_although_the_breaker_is_open_and_nothing_else_is_there(live: Shop) -> None:
    live.on("order.created", name="create_order")(insert)
    await make_suspect(live, "evt_1")
    at_work = live.worker()
    at_work.breakers.trip("a short outage, over long ago")
    task = asyncio.create_task(at_work.run())
    await until(lambda: are_done(live, 1), "the suspect is the probe")
    at_work.stop()
    await task


async def test_a_claim_whose_answer_was_lost_runs_out_and_is_claimed_again(live: Shop) -> None:
    live.on("order.created", name="create_order")(insert)
    await live.deliver("evt_1")
    live.inbox.claim = once(live.inbox.claim, InboxUnavailableError("after the claim committed"), after=True)
    async with running(live, lease=0.5):
        await until(lambda: are_done(live, 1), "its lease was not renewed by mistake")


async def test_an_effect_whose_settling_failed_runs_out_and_is_performed_again(live: Shop) -> None:
    performed: list[str] = []

    @live.effect
    async def send_mail(effect: Effect) -> None:
        performed.append(effect.key)

    @live.on("order.created")
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage(send_mail)

    claim_suspect = live.ledger.claim_suspect

    async def claim_for_long(**options: Any) -> Any:
        return await claim_suspect(**options | {"lease": PATIENCE_SECONDS})  # it outlasts a pause of the machine

    live.ledger.claim_suspect = claim_for_long
    live.ledger.settle = once(live.ledger.settle, LedgerUnavailableError("a blip"))
    await live.deliver("evt_1")
    async with running(live, lease=0.5):
        await until(lambda: effects_done(live, 1), "performed again")
    assert len(performed) == 2 and len(set(performed)) == 1


async def effects_done(shop: Shop, count: int) -> bool:
    return bool((await shop.ledger.counts())[EffectState.DONE] == count)


async def test_receipts_that_somebody_committed_meanwhile_are_never_withdrawn(shop: Shop) -> None:
    """A handler rolls back behind our back; what is then withdrawn would be another worker's, and run twice."""
    other = shop.another_ledger()
    await other.open()
    ran: list[str] = []

    @shop.on("order.created", attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        ran.append(event.key)
        if len(ran) > 1:
            return await insert(event, tx)
        (second,) = {"evt_1", "evt_2"} - {event.key}
        if shop.store == "postgres":
            await tx.connection.execute("ROLLBACK")
        else:
            tx.connection.execute("ROLLBACK")
        zombie = await other.begin(deadline=PATIENCE_SECONDS)
        key = ReceiptKey(receipt_digest(shop.inbox_id, "stripe", second), HandlerName("create_order"), 1)
        assert await zombie.reserve([key]) == [None]
        await (await zombie.scope()).handle.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", second)
        await zombie.commit(results=[], effects=[])
        shop.clock.advance(0.06)  # past the time of a transaction: the second is not reached, and withdrawn
        return None

    await shop.deliver("evt_1", "evt_2")
    at_work = shop.worker()
    claims = await shop.inbox.claim(token=at_work._token(), lease=30, limit=2)
    await at_work._execution.execute(claims, Pace(size=2))
    await other.close()
    orders = await shop.orders()
    assert len(orders) == len(set(orders))


async def test_a_def_handler_past_its_deadline_cannot_write_through_a_connection_that_it_kept(live: Shop) -> None:
    overran, ended = threading.Event(), threading.Event()

    @live.on("order.created", attempts=1, deadline=0.05)
    def create_order(event: Event, tx: Any) -> None:
        connection = tx.connection
        overran.wait(PATIENCE_SECONDS)
        try:
            late = connection.execute("INSERT INTO orders (key, amount) VALUES ('late', 1)")
            if asyncio.iscoroutine(late):
                asyncio.run(late)
        finally:
            ended.set()

    await live.deliver("evt_1")
    await live.drain()
    overran.set()
    await asyncio.to_thread(ended.wait, PATIENCE_SECONDS)
    assert (await live.state("evt_1"), await live.orders()) == (State.DEAD, [])


@pytest.mark.parametrize("name", ["deadline", "function", "threads", "hung", "is_async"])
async def test_an_effect_may_have_arguments_of_any_name(shop: Shop, name: str) -> None:
    seen: list[dict[str, str]] = []

    @shop.effect
    async def remind(effect: Effect, **arguments: str) -> None:
        seen.append(arguments)

    @shop.on("order.created")
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage(remind, **{name: "2026-12-24"})

    await shop.deliver("evt_1")
    await shop.drain()
    assert seen == [{name: "2026-12-24"}]


class StrangeError(Exception):
    @property
    def response(self) -> None:
        raise RuntimeError("no response yet")

    def __str__(self) -> str:
        raise RuntimeError("no words either")


async def test_no_error_of_a_users_class_and_no_return_value_ends_the_worker(shop: Shop) -> None:
    @shop.effect
    async def send(effect: Effect) -> None:
        raise StrangeError

    @shop.on("strange", attempts=1)
    async def strange(event: Event, tx: Any) -> None:
        raise StrangeError

    @shop.on("cycle", attempts=1)
    async def cycle(event: Event, tx: Any) -> dict[str, Any]:
        tx.stage(send)
        endless: dict[str, Any] = {}
        endless["again"] = endless
        return endless

    @shop.on("cycle", attempts=1)
    async def stage_cycle(event: Event, tx: Any) -> None:
        endless: list[Any] = []
        endless.append(endless)
        tx.stage(send, to=endless)

    @shop.on("effect")
    async def effect(event: Event, tx: Any) -> None:
        tx.stage(send)

    for type_ in ("strange", "cycle", "effect"):
        await shop.deliver(f"evt_{type_}", type_=type_)
    await shop.settle_down()
    assert await shop.states() == {State.DEAD: 2, State.DONE: 1}


async def test_a_cancelled_commit_ends_the_hand_and_with_it_the_worker(live: Shop) -> None:
    committing = asyncio.Event()
    begin = live.ledger.begin

    async def begin_and_dawdle(**options: Any) -> Any:
        tx = await begin(**options)

        async def dawdle(**_: Any) -> None:
            committing.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                raise CommitUnknownError("cancelled while COMMIT was under way") from error

        tx.commit = dawdle
        return tx

    live.ledger.begin = begin_and_dawdle
    live.on("order.created", name="create_order")(insert)
    await live.deliver("evt_1")
    task = asyncio.create_task(live.worker(hands=1).run())
    await committing.wait()
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    assert done


@pytest.mark.parametrize("part", ["settle", "renew", "unhandled"])
async def test_a_loop_that_dies_of_a_bug_ends_the_whole_worker(live: Shop, part: str) -> None:
    live.on("order.created", name="create_order", deadline=20.0)(insert)
    setattr(live.inbox, part, once(getattr(live.inbox, part), RuntimeError("a bug")))
    await live.deliver("evt_1")
    at_work = live.worker(lease=0.03)
    at_work._leases.took(token(DEAD, 1), 1)
    task = asyncio.create_task(at_work.run())
    done, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    assert done
    assert str(task.exception()) == "a bug"


async def test_a_handler_that_breaks_its_own_connection_counts_as_an_attempt_in_the_end(shop: Shop) -> None:
    @shop.on("bad", attempts=2)
    async def bad(event: Event, tx: Any) -> None:
        if shop.store == "postgres":
            await tx.connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        else:
            sqlite3.connect("/no/such/folder/cache.db")

    shop.on("good", name="good")(insert)
    await shop.deliver("evt_bad", type_="bad")
    await shop.deliver("evt_good", type_="good")
    at_work = shop.worker()
    for _ in range(12):
        await at_work.drain()
        assert not at_work.breakers.infrastructure.is_open
        await shop.advance(4000)
    assert await shop.state("evt_bad") is State.DEAD and await shop.orders() == ["evt_good"]


async def closes(tx: Any, _shop: Shop) -> None:
    await tx.connection.close()


async def reads_only(tx: Any, _shop: Shop) -> None:
    await tx.execute("SET TRANSACTION READ ONLY")


async def is_cut_off(tx: Any, shop: Shop) -> None:
    """By the network, say. Whoever has nothing to send does not notice."""
    await shop.sql("SELECT pg_terminate_backend($1, 5000)", await tx.fetchval("SELECT pg_backend_pid()"))


@pytest.mark.parametrize("way", [closes, reads_only, is_cut_off])
async def test_a_handler_that_loses_its_connection_and_says_nothing_does_not_run_for_ever(
    migrated_database: str, way: Any
) -> None:
    """Its neighbours in the group are done, and it is dead in the end. What is heard at COMMIT may be an error, or that
    there is no answer: no single time is an attempt."""
    shop = Shop("postgres", migrated_database)
    await shop.open()
    runs = 0

    @shop.on(attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        nonlocal runs
        await insert(event, tx)
        if event.key == "evt_1":
            runs += 1
            await way(tx, shop)

    await shop.deliver(*(f"evt_{number}" for number in range(3)))
    at_work = shop.worker(hands=1)
    for _ in range(12):
        await at_work.drain()
        await shop.advance(4000)
    assert await shop.orders() == ["evt_0", "evt_2"]
    assert await shop.state("evt_1") is State.DEAD
    assert runs > 3
    await shop.close()


async def test_an_event_whose_commit_never_has_an_answer_does_not_run_for_ever(shop: Shop) -> None:
    begin, runs = shop.ledger.begin, 0

    async def no_answer(**_what: Any) -> None:
        raise CommitUnknownError("no answer to COMMIT")

    async def cut_off(**how: Any) -> Any:
        tx = await begin(**how)
        tx.commit = no_answer
        return tx

    @shop.on(attempts=2)
    async def create_order(event: Event, tx: Any) -> None:
        nonlocal runs
        runs += 1
        await insert(event, tx)

    shop.ledger.begin = cut_off
    await shop.deliver("evt_1")
    at_work = shop.worker()
    for _ in range(8):
        await at_work.drain()
        await shop.advance(4000)
    assert (await shop.state("evt_1"), await shop.orders()) == (State.DEAD, [])
    assert runs == 5  # three that are excused, and two attempts


async def test_a_commit_that_happened_after_many_without_an_answer_is_not_buried(shop: Shop) -> None:
    """The last attempt is charged, and the tombstone meets the receipt."""
    begin, runs = shop.ledger.begin, 0

    async def cut_off(**how: Any) -> Any:
        tx = await begin(**how)
        commit = tx.commit

        async def no_answer(**what: Any) -> None:
            nonlocal runs
            runs += 1
            if runs == 4:
                await commit(**what)
            raise CommitUnknownError("no answer to COMMIT")

        tx.commit = no_answer
        return tx

    shop.on(attempts=1, name="create_order")(insert)
    shop.ledger.begin = cut_off
    await shop.deliver("evt_1")
    at_work = shop.worker()
    for _ in range(6):
        await at_work.drain()
        await shop.advance(4000)
    assert (await shop.state("evt_1"), await shop.orders(), runs) == (State.DONE, ["evt_1"], 4)


async def test_what_an_old_worker_shelves_during_a_rolling_deploy_is_taken_up(
    live: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requeue, "REQUEUE_EVERY_SECONDS", 0.05)
    live.on("order.created", name="create_order")(insert)
    registry, live.registry = live.registry, Registry()
    old = live.worker()
    live.registry = registry
    await live.deliver("evt_1")
    async with running(live, hands=1):
        await old.drain()
        await until(lambda: are_done(live, 1), "taken up")


async def test_a_slow_handler_that_holds_the_ledger_costs_no_lease_in_the_inbox(live: Shop) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()
    claimed, renewed = set[Token](), list[set[Token]]()
    claim, renew = live.inbox.claim, live.inbox.renew
    long = {"lease": PATIENCE_SECONDS}  # renewed as often as a short one, and outlasts a pause of the machine

    async def claim_for_long(**options: Any) -> Any:
        if found := await claim(**options | long):
            claimed.add(options["token"])
        return found

    async def renew_for_long(**options: Any) -> None:
        await renew(**options | long)
        renewed.append(set(options["tokens"]))

    live.inbox.claim, live.inbox.renew = claim_for_long, renew_for_long

    @live.on("order.created", group=False, deadline=20.0)
    async def create_order(event: Event, tx: Any) -> None:
        entered.set()
        await go_on.wait()

    await live.deliver("evt_slow")
    async with running(live, hands=1, lease=0.6):
        await entered.wait()
        await until(lambda: len(renewed) >= 6, "renewed for longer than the lease")
        assert claimed and all(claimed <= tokens for tokens in renewed)
        assert not await live.inbox.has_suspects()
        go_on.set()
        await until(lambda: are_done(live, 1), "done")


async def test_no_suspect_is_judged_while_a_thread_overruns_its_deadline(
    live: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(invoke, "CANCEL_GRACE_SECONDS", 0.3)
    let_go, ran, hung = threading.Event(), [], asyncio.Event()

    @live.on("order.hangs", attempts=1, deadline=0.05)
    def hangs(event: Event, tx: Any) -> None:
        let_go.wait(PATIENCE_SECONDS)

    @live.on("order.created")
    async def create_order(event: Event, tx: Any) -> None:
        ran.append(hung.is_set())

    await live.deliver("evt_hangs", type_="order.hangs")
    at_work = live.worker(hung=hung.set)
    await at_work.drain()
    await make_suspect(live, "evt_suspect")
    task = asyncio.create_task(at_work.run())
    await hung.wait()
    assert ran == []  # in a real worker the process is gone by now, and the suspect was not the one who did it
    let_go.set()
    await until(lambda: bool(ran), "it runs when the thread is out")
    at_work.stop()
    await task


async def test_each_handler_of_an_event_keeps_its_own_backoff(shop: Shop) -> None:
    calls: list[str] = []

    @shop.on("order.created", attempts=5)
    async def crm(event: Event, tx: Any) -> None:
        calls.append("crm")
        if len(calls) < 4:
            raise RetryLater("closed until tomorrow", after=86_400)

    @shop.on("order.created", attempts=5)
    async def create_order(event: Event, tx: Any) -> None:
        calls.append("order")
        if calls.count("order") < 2:
            raise ConnectionError("a blip")
        await insert(event, tx)

    await shop.deliver("evt_1")
    for _ in range(4):
        await shop.drain()
        await shop.advance(600)
    assert await shop.orders() == ["evt_1"] and calls == ["crm", "order", "order"]
    await shop.advance(86_400)
    await shop.drain()
    assert calls[3:] == ["crm"] and await shop.state("evt_1") is State.DONE


async def test_a_handshake_never_breaks_the_proof(shop: Shop) -> None:
    tally = Tally(shop.inbox, boot=BootId(b"boot-one"), clock=shop.clock, sources=["slack"])
    tally.received("slack")
    await tally.flush()
    tally.withdrawn("slack")
    await tally.close()
    assert (await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance())).holds


async def test_a_backlog_leaves_no_pile_of_wakeups_behind(live: Shop) -> None:
    live.on("order.created", name="create_order", group=False)(insert)
    await live.deliver(*(f"evt_{n}" for n in range(40)))
    claims, claim = 0, live.inbox.claim

    async def count(**options: Any) -> Any:
        nonlocal claims
        claims += 1
        return await claim(**options)

    live.inbox.claim = count
    async with running(live, hands=1):
        await until(lambda: are_done(live, 40), "all done")
    assert claims <= 60


async def test_a_handler_that_was_buried_and_then_removed_still_makes_a_dead_letter(shop: Shop) -> None:
    @shop.on("order.created", attempts=1)
    async def crm(event: Event, tx: Any) -> None:
        raise GiveUp("never")

    fails = [1]

    @shop.on("order.created", attempts=5)
    async def create_order(event: Event, tx: Any) -> None:
        if fails:
            raise ValueError(fails.pop())
        await insert(event, tx)

    await shop.deliver("evt_1")
    await shop.drain()
    shop.registry.handlers = [handler for handler in shop.registry.handlers if handler.name != "crm"]
    shop.registry._known.clear()
    receipts, shop.ledger.receipts = shop.ledger.receipts, once(shop.ledger.receipts, LedgerUnavailableError("a blip"))
    await shop.settle_down()
    shop.ledger.receipts = receipts
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.handler) == (State.DEAD, "gave_up", "crm")


async def test_a_tombstone_of_somebody_elses_making_is_read_as_far_as_it_can_be(shop: Shop) -> None:
    shop.on("order.created", name="create_order")(insert)
    await shop.deliver("evt_1")
    key = ReceiptKey(receipt_digest(shop.inbox_id, "stripe", "evt_1"), HandlerName("create_order"), 1)
    await shop.ledger.bury([Receipt(key, Outcome.DEAD, b"by hand")])
    await shop.drain()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.message) == (State.DEAD, "tombstone", "by hand")


async def test_a_settlement_that_the_inbox_refuses_does_not_hold_up_its_neighbours(live: Shop) -> None:
    live.on("order.created", name="create_order")(insert)
    settle = live.inbox.settle

    async def picky(settlements: Any) -> Any:
        if any(one.event_id == bad for one in settlements):
            raise RowRefusedError("this row")
        return await settle(settlements)

    [bad] = await live.deliver("evt_bad")
    await live.deliver("evt_1", "evt_2")
    live.inbox.settle = picky
    async with running(live, hands=1):
        await until(lambda: are_done(live, 2), "the neighbours are settled")
    assert await live.orders() == ["evt_1", "evt_2", "evt_bad"]
