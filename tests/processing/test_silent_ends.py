"""Nothing ends silently: whatever a handler or an effect does to its own task, every hand and every loop goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.effect import EffectState
from landfast.domain.errors import LoopEndedError
from landfast.domain.event import Effect, Event
from landfast.domain.ids import WorkerId, token
from landfast.domain.lifecycle import State
from landfast.processing import invoke
from landfast.processing.control.leases import Leases
from landfast.processing.control.requeue import Requeue
from landfast.processing.control.suspects import Suspects
from landfast.processing.effects.loop import EffectLoop
from landfast.processing.hands import Hands
from landfast.processing.parking import Parking
from landfast.processing.settle import Settler
from landfast.processing.worker import Worker
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_worker import running, until

DEAD = WorkerId(b"deadwork")


class MuteError(Exception):
    """One that cannot be printed in any way."""

    def __str__(self) -> NoReturn:
        raise SystemExit("no words")

    __repr__ = __str__


def own_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def cancels_itself() -> None:
    own_task().cancel()
    await asyncio.sleep(0)


async def cancels_itself_and_returns() -> None:
    own_task().cancel()


async def is_cancelled_later_by_a_library() -> None:
    loop, task = asyncio.get_running_loop(), own_task()
    loop.call_soon(task.cancel)
    loop.call_later(0.001, task.cancel)
    loop.call_later(0.01, task.cancel)


async def swallows_its_own_cancellation_and_goes_on() -> None:
    own_task().cancel()
    try:
        await asyncio.sleep(0)
    except asyncio.CancelledError:
        await asyncio.sleep(0)


async def swallows_the_cancellation_at_its_deadline() -> None:
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        await asyncio.sleep(0)


async def is_its_own_cause() -> None:
    error = ValueError("in a circle")
    raise error from error


def raises(error: BaseException) -> Callable[[], Awaitable[None]]:
    async def raising() -> None:
        raise error

    return raising


BAD: dict[str, Callable[[], Awaitable[None]]] = {
    "cancels_itself": cancels_itself,
    "circle": is_its_own_cause,
    "mute": raises(MuteError()),
    "cancelled": raises(asyncio.CancelledError()),
    "exit": raises(SystemExit(3)),
    "interrupt": raises(KeyboardInterrupt()),
    "closed": raises(GeneratorExit()),
    "group": raises(BaseExceptionGroup("two", [MuteError(), KeyboardInterrupt()])),
}
"""A failed attempt, each of them."""

ODD: dict[str, Callable[[], Awaitable[None]]] = {
    "later": is_cancelled_later_by_a_library,
    "returns": cancels_itself_and_returns,
    "swallows": swallows_its_own_cancellation_and_goes_on,
}
"""It did all that it was asked to do."""


async def misbehave(event: Event, tx: Any) -> None:
    await insert(event, tx)
    await (BAD | ODD)[event.key]()


async def are(shop: Shop, wanted: dict[State, int]) -> bool:
    return await shop.states() == wanted


@pytest.mark.req("R24")
async def test_no_handler_ends_the_hand_that_runs_it(live: Shop, caplog: pytest.LogCaptureFixture) -> None:
    live.on("bad", name="bad", attempts=1)(misbehave)
    live.on("good", name="good")(insert)
    async with running(live, hands=1):
        for key in BAD | ODD:
            await live.deliver(key, type_="bad")
        await live.deliver("good_1", "good_2", "good_3", type_="good")
        await until(lambda: are(live, {State.DEAD: len(BAD), State.DONE: len(ODD) + 3}), "all ended")
    assert await live.orders() == sorted([*ODD, "good_1", "good_2", "good_3"])
    assert (await live.show("cancels_itself")).summary.error == "CancelledError"
    assert "worker_loop_ended" not in caplog.text


async def test_a_backlog_of_them_costs_no_neighbour_an_attempt(shop: Shop) -> None:
    attempts: list[int] = []

    @shop.on("*", attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        await insert(event, tx)
        attempts.append(event.attempt)
        if event.key in BAD | ODD:
            await (BAD | ODD)[event.key]()

    good = [f"evt_{number:02}" for number in range(30)]
    await shop.deliver(*good, *BAD, *ODD)
    await shop.drain()
    assert await shop.states() == {State.DEAD: len(BAD), State.DONE: len(good) + len(ODD)}
    assert await shop.orders() == sorted([*good, *ODD])


async def test_a_suspect_that_cancels_itself_does_not_end_the_look_for_suspects(live: Shop) -> None:
    live.on("*", name="bad", attempts=1)(misbehave)
    await live.deliver(*BAD, *ODD)
    assert len(await live.inbox.claim(token=token(DEAD, 1), lease=30, limit=99)) == len(BAD | ODD)
    await live.inbox.abandon(worker=DEAD)
    async with running(live, hands=1):
        await until(lambda: are(live, {State.DEAD: len(BAD), State.DONE: len(ODD)}), "all looked at")


async def test_no_effect_ends_the_loop_that_performs_it(live: Shop) -> None:
    performed: list[str] = []

    async def odd(effect: Effect, how: str) -> None:
        performed.append(how)
        if how in BAD | ODD:
            await (BAD | ODD)[how]()

    live.effect(odd, attempts=1)

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("odd", how=event.key)

    async with running(live):
        await live.deliver(*BAD, *ODD)
        await until(lambda: set(performed) == set(BAD | ODD), "all were tried")
        await live.deliver("good_1", "good_2")
        wanted = {EffectState.DEAD: len(BAD), EffectState.DONE: len(ODD) + 2}
        await until(lambda: effects_are(live, wanted), "effects go on")


TRIES = 50


async def first_that_hangs(shop: Shop, type_: str, hanging: Collection[str]) -> str:
    """Its key, and its deadline is over. Where the machine stands still at the wrong moment, that cuts off a handler
    before it is where it hangs, and another is tried."""
    for number in range(TRIES):
        key = f"{type_}_{number}"
        await shop.deliver(key, type_=type_)
        await until(partial(shop.state_is, key, State.DEAD), "it is dead")
        if key in hanging:
            return key
    raise AssertionError("none of them came so far")


@pytest.mark.parametrize("colour", ["async", "sync"])
async def test_a_handler_that_hangs_says_where_and_its_hand_goes_on(live: Shop, colour: str) -> None:
    hanging, let_go = set[str](), threading.Event()

    async def on_loop(event: Event, tx: Any) -> None:
        await insert(event, tx)
        hanging.add(event.key)
        await swallows_the_cancellation_at_its_deadline()

    def waits_in_a_thread(key: str) -> None:
        if not at_work._threads.are_overrunning:  # else its time was over before it came here
            hanging.add(key)
            let_go.wait(PATIENCE_SECONDS)

    def in_thread(event: Event, tx: Any) -> None:
        waits_in_a_thread(event.key)

    handler = on_loop if colour == "async" else in_thread
    live.on("late", name="late", attempts=1, deadline=0.1)(handler)
    live.on("good", name="good")(insert)
    try:
        async with running(live, hands=1, hung=lambda: None) as at_work:
            late = await first_that_hangs(live, "late", hanging)
            await live.deliver("good", type_="good")
            await until(lambda: live.state_is("good", State.DONE), "its hand goes on")
    finally:
        let_go.set()
    [attempt] = (await live.show(late)).history[-1].attempts
    assert attempt.error == "DeadlineError"
    inner = "swallows_the_cancellation_at_its_deadline" if colour == "async" else "waits_in_a_thread"
    assert f"in {handler.__name__}\n" in attempt.trace and f"in {inner}\n" in attempt.trace
    assert "landfast/processing" not in attempt.trace, "none of our own frames"
    assert await live.orders() == ["good"]


async def effects_are(shop: Shop, wanted: dict[EffectState, int]) -> bool:
    return {state: count for state, count in (await shop.ledger.counts()).items() if count} == wanted


async def test_a_handler_that_never_ends_is_left_behind_where_its_process_must_live_on(
    live: Shop, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(invoke, "CANCEL_GRACE_SECONDS", 0.05)
    let_go, gone, left, hanging = asyncio.Event(), asyncio.Event(), set[Any](), set[str]()
    monkeypatch.setattr(invoke, "LEFT_BEHIND", left)

    @live.on("stubborn", attempts=1, deadline=0.1)
    async def stubborn(event: Event, tx: Any) -> None:
        await insert(event, tx)
        hanging.add(event.key)
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        with pytest.raises(Exception, match="transaction"):
            await insert(event, tx)
        gone.set()

    live.on("good", name="good")(insert)
    hung = asyncio.Event()
    async with running(live, hands=1, hung=hung.set):
        try:
            await first_that_hangs(live, "stubborn", hanging)
            assert hung.is_set() and len(left) == 1
            await live.deliver("good", type_="good")
            await until(lambda: live.state_is("good", State.DONE), "its hand has another")
        finally:
            let_go.set()  # nothing else ends it
        await asyncio.wait_for(gone.wait(), PATIENCE_SECONDS)
        await until(lambda: not left, "it ended after all")
    assert await live.orders() == ["good"], "its transaction was taken away"
    assert "still_running_after_its_deadline" in caplog.text and "stubborn" in caplog.text


LOOPS = {
    "hand 0": (Hands, "work"),
    "suspects": (Suspects, "run_between"),
    "effects": (EffectLoop, "run"),
    "settler": (Settler, "run"),
    "wakeup": (Worker, "_listen"),
    "look at the switches": (Worker, "_agree"),
    "requeue": (Requeue, "look_for_ever"),
    "look at what is parked": (Parking, "look_again_for_ever"),
    "renewal of leases": (Leases, "renew_for_ever"),
}


@pytest.fixture
async def sqlite_live(tmp_path: Path) -> AsyncIterator[Shop]:
    """The loops are the same on every store."""
    opened = Shop("sqlite", str(tmp_path), clock=SystemClock())  # type: ignore[arg-type]
    await opened.open()
    yield opened
    await opened.close()


@pytest.mark.parametrize("how", ["returns", "is cancelled"])
@pytest.mark.parametrize("loop", LOOPS)
async def test_a_loop_that_ends_while_nobody_stops_it_ends_the_worker_with_an_error(
    sqlite_live: Shop, loop: str, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def ends(*_: Any) -> None:
        if how == "is cancelled":
            own_task().cancel()
            await asyncio.sleep(0)

    owner, name = LOOPS[loop]
    monkeypatch.setattr(owner, name, ends)
    with pytest.raises(LoopEndedError, match=loop):
        await asyncio.wait_for(sqlite_live.worker(hands=2).run(), PATIENCE_SECONDS)
    assert f'loop="{loop}"' in caplog.text or f"loop={loop}" in caplog.text


async def test_a_worker_that_is_cancelled_ends_without_an_alarm(live: Shop, caplog: pytest.LogCaptureFixture) -> None:
    entered = asyncio.Event()

    @live.on()
    async def create_order(event: Event, tx: Any) -> None:
        entered.set()
        await asyncio.Event().wait()

    await live.deliver("evt_1")
    task = asyncio.create_task(live.worker().run())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, PATIENCE_SECONDS)
    assert "worker_loop_ended" not in caplog.text
    assert await live.state("evt_1") is State.CLAIMED
