"""Pause and resume: what is switched off waits, loses nothing, and goes on once, however the two race."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.event import Effect, Event
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import Signal, State
from landfast.domain.switch import SwitchKind
from landfast.processing.fairness.pace import Pace
from landfast.processing.settlements import PAUSED_LOOK_SECONDS
from landfast.recovery.switches import resume
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_review import attempts_of
from tests.processing.test_switches import two_workers
from tests.processing.test_worker import live, running, until

__all__ = ["live"]

SOURCE, HANDLER = SwitchKind.SOURCE, SwitchKind.HANDLER


async def pause(shop: Shop, kind: SwitchKind = SOURCE, name: str = "stripe") -> None:
    await shop.inbox.throw(kind, name, why="a fix is on its way", who="ada")


def signals_of(record: Any) -> list[Signal]:
    return [line.signal for line in record.history]


@pytest.mark.req("R33")
async def test_events_of_a_paused_source_wait_untried_and_go_on_when_it_is_resumed(shop: Shop) -> None:
    shop.on(name="create_order")(insert)
    await pause(shop)
    keys = [f"evt_{n:02}" for n in range(30)]
    await shop.deliver(*keys)
    await shop.drain()
    await shop.advance(10 * 86_400)  # longer than all tries may take: it does not count
    await shop.drain()
    assert await shop.states() == {State.PAUSED: 30} and await shop.orders() == []
    waiting = (await shop.show("evt_00")).summary
    assert (waiting.reason, waiting.message) == ("source:stripe", "a fix is on its way")
    assert await resume(shop.inbox, SOURCE, "stripe") == 30
    await shop.drain()
    assert await shop.states() == {State.DONE: 30} and await shop.orders() == keys
    record = await shop.show("evt_00")
    assert signals_of(record) == [Signal.PAUSE, Signal.RESUME, Signal.FINISH]
    assert attempts_of(record) == [("create_order", 1, "done")]


@pytest.mark.req("R33")
async def test_a_paused_handler_lets_the_others_run_and_runs_alone_when_it_is_resumed(shop: Shop) -> None:
    calls: list[str] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        calls.append("create_order")
        await insert(event, tx)

    @shop.on()
    async def tell_crm(event: Event, tx: Any) -> None:
        calls.append("tell_crm")

    await pause(shop, HANDLER, "tell_crm")
    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.PAUSED and calls == ["create_order"]
    assert await resume(shop.inbox, HANDLER, "tell_crm") == 1
    await shop.drain()
    assert await shop.state("evt_1") is State.DONE and calls == ["create_order", "tell_crm"]
    assert await shop.orders() == ["evt_1"]


@pytest.mark.parametrize(("kind", "name"), [(SOURCE, "stripe"), (HANDLER, "create_order")])
async def test_a_pause_costs_no_attempt_and_no_time_of_what_all_tries_may_take(
    shop: Shop, kind: SwitchKind, name: str
) -> None:
    failures = 2

    @shop.on(attempts=3, backoff=Backoff(total=60))
    async def create_order(event: Event, tx: Any) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise RuntimeError("not yet")
        await insert(event, tx)

    await shop.deliver("evt_1")
    for _ in range(2):
        await shop.drain()
        await pause(shop, kind, name)
        await shop.advance(3600)
        await shop.drain()
        assert await shop.state("evt_1") is State.PAUSED
        await shop.advance(3600)
        await resume(shop.inbox, kind, name)
    await shop.drain()
    assert await shop.state("evt_1") is State.DONE
    assert [number for _, number, _ in attempts_of(await shop.show("evt_1"))] == [1, 2, 3]


async def test_a_retry_does_not_wait_for_another_handlers_pause_nor_the_other_way_round(shop: Shop) -> None:
    tries: list[int] = []

    @shop.on(attempts=3, backoff=Backoff(first=1000))
    async def create_order(event: Event, tx: Any) -> None:
        tries.append(event.attempt)
        if event.attempt == 1:
            raise RuntimeError("not yet")
        await insert(event, tx)

    @shop.on()
    async def tell_crm(event: Event, tx: Any) -> None:
        tries.append(0)

    await pause(shop, HANDLER, "tell_crm")
    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.DELAYED and tries == [1]
    await resume(shop.inbox, HANDLER, "tell_crm")
    await shop.advance(PAUSED_LOOK_SECONDS + 1)
    await shop.drain()
    assert tries == [1, 0]
    await pause(shop, HANDLER, "tell_crm")
    await shop.advance(1000)
    await shop.drain()
    assert tries == [1, 0, 2]
    await resume(shop.inbox, HANDLER, "tell_crm")
    await shop.drain()
    assert await shop.state("evt_1") is State.DONE and tries == [1, 0, 2]


@pytest.mark.req("R33")
async def test_an_event_that_is_paused_by_a_worker_that_has_not_heard_of_the_release_is_not_stuck(shop: Shop) -> None:
    """The race: claimed while paused, released, and only then settled."""
    shop.on(name="create_order")(insert)
    await pause(shop)
    await shop.deliver("evt_1")
    late = shop.worker()
    await late._switches.look()
    claims = await shop.inbox.claim(token=late._token(), lease=30, limit=1)
    [settlement] = await late._execution.execute(claims, Pace())
    assert await resume(shop.inbox, SOURCE, "stripe") == 0
    assert settlement.signal is Signal.PAUSE
    assert list(await shop.inbox.settle([settlement])) == [True]
    assert await shop.state("evt_1") is State.PAUSED  # the fault: nobody will release that switch again
    await late._switches.look()
    await late.drain()
    assert await shop.state("evt_1") is State.DONE


async def test_a_pause_under_a_token_that_was_lost_changes_nothing(shop: Shop) -> None:
    shop.on(name="create_order")(insert)
    await pause(shop)
    await shop.deliver("evt_1")
    zombie = shop.worker()
    await zombie._switches.look()
    claims = await shop.inbox.claim(token=zombie._token(), lease=1, limit=1)
    settlements = await zombie._execution.execute(claims, Pace())
    await resume(shop.inbox, SOURCE, "stripe")
    await shop.advance(2)
    await shop.drain()
    assert await shop.state("evt_1") is State.DONE
    assert list(await shop.inbox.settle(settlements)) == [False]
    assert await shop.state("evt_1") is State.DONE


async def test_pauses_and_releases_that_race_with_two_workers_leave_nothing_behind(live: Shop) -> None:
    live.on(name="create_order")(insert)
    keys = [f"evt_{n:03}" for n in range(200)]
    async with two_workers(live) as workers:
        for start in range(0, 200, 20):
            await pause(live)
            await asyncio.gather(*(worker._switches.look() for worker in workers))
            await live.deliver(*keys[start : start + 20])
            await resume(live.inbox, SOURCE, "stripe")
        await until(lambda: live.orders_are(keys), "all processed")
    assert await live.states() == {State.DONE: 200}
    lines = [signals_of(await live.show(key)) for key in keys]
    assert any(Signal.PAUSE in signals for signals in lines), "the fault did not fire: nothing was ever paused"


async def test_what_a_handler_has_in_hand_is_finished_and_its_effects_are_performed(live: Shop) -> None:
    entered, go_on, mails = asyncio.Event(), asyncio.Event(), list[str]()

    @live.effect
    async def send_mail(effect: Effect, to: str) -> None:
        mails.append(to)

    @live.on(group=False)
    async def create_order(event: Event, tx: Any) -> None:
        entered.set()
        await go_on.wait()
        await insert(event, tx)
        tx.stage(send_mail, to=event.key)

    await live.deliver("evt_1")
    async with running(live) as worker:
        await entered.wait()
        await pause(live)
        await pause(live, HANDLER, "create_order")
        await until(lambda: bool(worker._switches.pauses.sources), "heard of it")
        await live.deliver("evt_2")
        go_on.set()
        await until(lambda: mails == ["evt_1"], "performed")
        await until(lambda: live.state_is("evt_2", State.PAUSED), "the next one waits")
    assert await live.state("evt_1") is State.DONE


async def test_a_large_paused_backlog_is_put_aside_in_batches(shop: Shop) -> None:
    shop.on(name="create_order")(insert)
    await shop.deliver(*(f"evt_{n:04}" for n in range(2000)))
    await pause(shop)
    settles, settle = [], shop.inbox.settle

    async def counted(settlements: Any) -> Any:
        settles.append(len(settlements))
        return await settle(settlements)

    shop.inbox.settle = counted
    await shop.drain()
    assert await shop.states() == {State.PAUSED: 2000}
    assert len(settles) < 30, settles


async def test_a_suspect_of_a_paused_source_is_still_one_when_it_is_resumed(shop: Shop) -> None:
    shop.on(name="create_order")(insert)
    await shop.deliver("evt_1")
    crashed = shop.worker()
    await shop.inbox.claim(token=crashed._token(), lease=1, limit=1)
    await shop.advance(2)
    await pause(shop)
    await shop.drain()
    assert await shop.state("evt_1") is State.PAUSED
    await resume(shop.inbox, SOURCE, "stripe")
    assert not await shop.inbox.claim(token=crashed._token(), lease=30, limit=1)
    await shop.drain()
    assert await shop.state("evt_1") is State.DONE


async def test_a_handler_that_is_buried_beside_a_paused_one_makes_a_dead_letter_in_the_end(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        raise RuntimeError("never")

    @shop.on()
    async def tell_crm(event: Event, tx: Any) -> None: ...

    await pause(shop, HANDLER, "tell_crm")
    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.PAUSED
    await resume(shop.inbox, HANDLER, "tell_crm")
    await shop.drain()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.handler) == (State.DEAD, HandlerName("create_order"))


@pytest.mark.req("R33")
async def test_a_worker_that_starts_claims_nothing_before_it_knows_what_is_paused(live: Shop) -> None:
    live.on(name="create_order")(insert)
    await pause(live)
    await live.deliver(*(f"evt_{n:02}" for n in range(30)))
    switches, asked, answered = live.inbox.switches, asyncio.Event(), asyncio.Event()

    async def slowly() -> Any:
        asked.set()
        await answered.wait()
        return await switches()

    live.inbox.switches = slowly
    async with running(live):
        await asked.wait()
        for _ in range(3):  # as often as a claim would need
            assert await live.states() == {State.READY: 30}
        answered.set()
        await until(lambda: paused(live, 30), "all of them wait")
    assert await live.orders() == []


async def paused(shop: Shop, count: int) -> bool:
    return await shop.states() == {State.PAUSED: count}


async def test_the_breaker_of_a_handler_that_is_in_the_code_no_longer_holds_up_nobody(shop: Shop) -> None:
    """Who has no such handler could never find out that it is mended, and would bring back a few at a time for ever."""
    shop.on(name="create_order")(insert)
    await shop.inbox.throw(SwitchKind.BREAKER, "handler:gone", why="the CRM is away", who="an older worker", lasting=5)
    worker = shop.worker()
    await worker.drain()
    await pause(shop)
    await shop.deliver(*(f"evt_{n:02}" for n in range(60)))
    await worker._switches.look()
    await worker.drain()
    assert await shop.states() == {State.PAUSED: 60}
    await shop.inbox.lift(SOURCE, "stripe")
    await worker._switches.look()
    assert await shop.states() == {State.READY: 60}


@pytest.mark.req("R33")
@pytest.mark.parametrize(("kind", "name"), [(SOURCE, "stripe"), (HANDLER, "create_order")])
async def test_a_pause_at_once_takes_back_what_is_in_hand_and_costs_no_attempt(
    live: Shop, kind: SwitchKind, name: str
) -> None:
    entered, hangs = asyncio.Event(), True

    @live.on(deadline=600)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        entered.set()
        if hangs:
            await asyncio.Event().wait()

    await live.deliver("evt_1")
    async with running(live):
        await entered.wait()
        await live.inbox.throw(kind, name, why="it hangs", who="ada", at_once=True)
        await until(lambda: live.state_is("evt_1", State.PAUSED), "taken back")
        assert await live.orders() == [], "its transaction was rolled back"
        hangs = False
        await resume(live.inbox, kind, name)
        await until(lambda: live.state_is("evt_1", State.DONE), "and done in the end")
    assert attempts_of(await live.show("evt_1")) == [("create_order", 1, "done")]
    assert await live.orders() == ["evt_1"]
