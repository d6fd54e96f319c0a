"""The worker's loops: it wakes, works side by side, runs suspects alone, pauses in an outage, and stops cleanly."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import WorkerId, token
from landfast.domain.lifecycle import Signal, State
from landfast.processing.fairness.pace import Pace
from landfast.processing.invoke import kill_this_process
from landfast.processing.worker import Worker
from landfast.wakeups.local import LocalWakeup
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


@pytest.fixture
def live(shop: Shop) -> Shop:
    """The shop with real time, for what runs until it is stopped."""
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.inbox._clock = shop.clock
    return shop


@asynccontextmanager
async def running(shop: Shop, **options: Any) -> AsyncIterator[Worker]:
    worker = shop.worker(**options)
    task = asyncio.create_task(worker.run())
    try:
        yield worker
    finally:
        worker.stop()
        await asyncio.wait_for(task, PATIENCE_SECONDS)


async def until(condition: Callable[[], Any], what: str) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            value = condition()
            if await value if asyncio.iscoroutine(value) else value:
                return
            await asyncio.sleep(0.01)
    raise AssertionError(what)


@pytest.mark.req("R24")
async def test_a_running_worker_processes_what_comes_in_and_performs_its_effects(live: Shop) -> None:
    mails: list[str] = []

    @live.effect
    async def send_mail(effect: Effect, to: str) -> None:
        mails.append(to)

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        tx.stage(send_mail, to=event.key)

    wakeup = LocalWakeup()
    keys = [f"evt_{n:02}" for n in range(60)]
    async with running(live, wakeup=wakeup):
        for key in keys:
            await live.deliver(key)
            wakeup.nudge()
        await until(lambda: len(mails) == 60, "all effects performed")
        await until(lambda: done(live, 60), "all settled")
    assert await live.orders() == keys and sorted(mails) == keys


async def done(shop: Shop, count: int) -> bool:
    return await shop.states() == {State.DONE: count}


async def test_a_worker_finds_work_without_any_wakeup(live: Shop) -> None:
    class Deaf(LocalWakeup):
        def nudge(self) -> None:
            """Every hint is lost."""

    live.on(name="create_order")(insert)
    async with running(live, wakeup=Deaf()):
        await live.deliver("evt_1")
        await until(lambda: done(live, 1), "found by the poll")


async def test_stopping_finishes_what_is_in_hand_and_gives_the_rest_back(live: Shop) -> None:
    entered, go_on = asyncio.Event(), asyncio.Event()

    @live.on(group=False)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        entered.set()
        await go_on.wait()

    await live.deliver(*(f"evt_{n}" for n in range(4)))
    worker = live.worker(hands=1)
    claims = await live.inbox.claim(token=worker._token(), lease=30, limit=4)
    executing = asyncio.create_task(worker._execution.execute(claims, Pace()))
    await entered.wait()
    worker.stop()
    go_on.set()
    settlements = await executing
    assert sorted(settlement.signal for settlement in settlements) == [Signal.FINISH] + [Signal.RELEASE] * 3
    await live.inbox.settle(settlements)
    assert await live.states() == {State.DONE: 1, State.READY: 3}


async def test_a_suspect_runs_with_nothing_else_going_on(live: Shop) -> None:
    inside: list[str] = []
    together: list[tuple[str, ...]] = []

    @live.on(group=False)
    async def create_order(event: Event, tx: Any) -> None:
        inside.append(event.key)
        together.append(tuple(inside))
        await asyncio.sleep(0)
        await insert(event, tx)
        inside.remove(event.key)

    await live.deliver("suspect")
    await live.inbox.claim(token=token(WorkerId(b"crashing"), 1), lease=30, limit=1)
    await live.inbox.abandon(worker=WorkerId(b"crashing"))
    await live.deliver(*(f"evt_{n}" for n in range(30)))
    async with running(live):
        await until(lambda: done(live, 31), "all done")
    assert ("suspect",) in together
    assert not [group for group in together if "suspect" in group and len(group) > 1]


async def test_leases_are_renewed_while_a_handler_runs(live: Shop) -> None:
    renewed = asyncio.Event()
    renew = live.inbox.renew

    async def noticed(**options: Any) -> None:
        await renew(**options)
        renewed.set()

    live.inbox.renew = noticed

    @live.on(deadline=20.0)
    async def create_order(event: Event, tx: Any) -> None:
        await renewed.wait()
        await insert(event, tx)

    await live.deliver("evt_1")
    async with running(live, lease=0.3):
        await until(lambda: done(live, 1), "done after its lease was renewed")
    assert await live.orders() == ["evt_1"]


async def test_a_worker_renews_nothing_that_it_has_settled(live: Shop) -> None:
    live.on(name="create_order")(insert)
    await live.deliver(*(f"evt_{n}" for n in range(7)))
    worker = live.worker()
    await worker.drain()
    assert await done(live, 7)
    assert not worker._leases.tokens()


async def test_effects_are_looked_for_after_a_group_that_staged_some_and_not_after_every_group(live: Shop) -> None:
    @live.effect
    async def confirm(effect: Effect) -> None: ...

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if event.key == "staging":
            tx.stage(confirm)

    worker = live.worker()
    await live.deliver("evt_1")
    assert await worker._hands.take(Pace())
    assert not worker._staged.is_set()
    await live.deliver("staging")
    assert await worker._hands.take(Pace())
    assert worker._staged.is_set()


async def test_an_inbox_that_is_away_stops_the_hands_and_they_go_on_when_it_is_back(live: Shop) -> None:
    claim, failures = live.inbox.claim, 3

    async def unsteady(**options: Any) -> Any:
        nonlocal failures
        if failures:
            failures -= 1
            raise InboxUnavailableError("the inbox is away")
        return await claim(**options)

    live.inbox.claim = unsteady
    live.on(name="create_order")(insert)
    await live.deliver("evt_1")
    async with running(live, hands=1) as worker:
        await until(lambda: done(live, 1), "done after the outage")
        assert not worker.breakers.infrastructure.is_open
    assert failures == 0


async def test_small_chores_that_fail_are_logged_and_tried_again(live: Shop, caplog: pytest.LogCaptureFixture) -> None:
    async def away(**_: Any) -> Any:
        raise InboxUnavailableError("away")

    settle, failed = live.inbox.settle, asyncio.Event()

    async def unsteady(settlements: Any) -> Any:
        if not failed.is_set():
            failed.set()
            raise InboxUnavailableError("away")
        return await settle(settlements)

    live.inbox.unhandled = live.inbox.renew = live.inbox.has_suspects = away
    live.ledger.claim = away
    live.inbox.settle = unsteady
    live.on(name="create_order")(insert)
    await live.deliver("evt_1")
    async with running(live, lease=0.03):
        await until(lambda: done(live, 1), "done in spite of it all")
        await until(lambda: "leases_not_renewed" in caplog.text, "the renewal was tried")
        await until(lambda: "effects_not_claimed" in caplog.text, "effects were tried")
    assert "requeue_failed" in caplog.text and "settle_delayed" in caplog.text


async def test_a_stopped_worker_with_an_inbox_away_ends_all_the_same(live: Shop) -> None:
    async def away(_: Any) -> Any:
        raise InboxUnavailableError("away")

    settle = live.inbox.settle
    live.inbox.settle = away
    live.on(name="create_order")(insert)
    await live.deliver("evt_1")
    async with running(live):
        await until(live.orders, "written")
    live.inbox.settle = settle
    assert await live.state("evt_1") is State.CLAIMED  # the next claim finds the receipt and only settles


@pytest.mark.parametrize("waits", ["flush", "submit"])
async def test_a_worker_that_is_stopped_while_the_inbox_is_away_waits_for_no_settlement(
    live: Shop, waits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = asyncio.Event()

    async def away(_: Any) -> Any:
        tried.set()
        raise InboxUnavailableError("away")

    settle = live.inbox.settle
    live.inbox.settle = away
    live.on(name="create_order")(insert)
    await live.deliver("evt_1")
    if waits == "submit":
        monkeypatch.setattr("landfast.processing.settle.UNSETTLED_AT_MOST", 1)
    else:
        await live.inbox.claim(token=token(WorkerId(b"crashing"), 1), lease=30, limit=1)
        await live.inbox.abandon(worker=WorkerId(b"crashing"))
    worker = live.worker(hands=1)
    task = asyncio.create_task(worker.run())
    await asyncio.wait_for(tried.wait(), PATIENCE_SECONDS)
    worker.stop()
    done, _ = await asyncio.wait([task], timeout=PATIENCE_SECONDS)
    task.cancel()
    assert done, "it waits for the inbox"
    live.inbox.settle = settle
    assert await live.orders() == ["evt_1"]
    await live.inbox.abandon(worker=worker._worker)
    await live.worker().drain()
    assert await live.states() == {State.DONE: 1}, "found by its receipt"
    assert await live.orders() == ["evt_1"]


async def test_a_worker_that_is_stopped_does_not_wait_for_an_inbox_that_says_nothing(
    live: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("landfast.processing.worker.LAST_SETTLEMENTS_SECONDS", 0.1)
    tried = asyncio.Event()

    async def silent(_: Any) -> Any:
        tried.set()
        await asyncio.Event().wait()

    live.inbox.settle = silent
    live.on(name="create_order")(insert)
    await live.deliver("evt_1")
    worker = live.worker(hands=1)
    task = asyncio.create_task(worker.run())
    await asyncio.wait_for(tried.wait(), PATIENCE_SECONDS)
    worker.stop()
    await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert await live.state("evt_1") is State.CLAIMED


async def test_a_tombstone_that_cannot_be_written_is_written_at_the_next_claim(shop: Shop) -> None:
    bury, failures = shop.ledger.bury, 1
    calls: list[int] = []

    async def unsteady(tombstones: Any, **options: Any) -> Any:
        nonlocal failures
        if failures:
            failures -= 1
            raise InboxUnavailableError("away")
        return await bury(tombstones, **options)

    shop.ledger.bury = unsteady

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        calls.append(1)
        raise RuntimeError("never")

    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.DELAYED
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DEAD and len(calls) == 2  # tried once more, so that its error is told
    assert (await shop.show("evt_1")).summary.error == "RuntimeError"


def test_a_hung_process_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append((pid, number)))
    kill_this_process()
    assert killed == [(os.getpid(), 9)]


async def test_an_error_that_cannot_print_itself_is_still_a_dead_letter(shop: Shop) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        raise MuteError

    await shop.deliver("evt_1")
    await shop.drain()
    assert (await shop.show("evt_1")).summary.error == "MuteError"
