"""Fairness: neither a hang nor a backlog of one handler delays another, and limits hold."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.domain.errors import ConfigError
from landfast.domain.event import Event
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.postgres import flows
from landfast.processing import worker as worker_module
from landfast.processing.conclude import Conclusion
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.relief import Relief
from landfast.processing.fairness.shares import Hold, sharers_of
from landfast.processing.worker import Worker
from landfast.testing.factory import delivery
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_pause import signals_of
from tests.processing.test_review import attempts_of
from tests.processing.test_worker import live, running, until

__all__ = ["live"]


@pytest.fixture
def wide(postgres_shop: Shop) -> Shop:
    """With real time. On SQLite a handler that hangs holds the ledger's only writer, and all others wait."""
    postgres_shop.clock = SystemClock()  # type: ignore[assignment]
    postgres_shop.inbox._clock = postgres_shop.clock
    return postgres_shop


class Hang:
    """A handler that waits until it may go on, and counts."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.running = self.most = 0

    async def __call__(self, event: Event, tx: Any) -> None:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.go_on.wait()
        finally:
            self.running -= 1

    def handler(self) -> Any:
        async def hang(event: Event, tx: Any) -> None:
            await self(event, tx)

        return hang


def hangs(shop: Shop, name: str = "hang", **options: Any) -> Hang:
    hang = Hang()
    shop.on(f"{name}.*", name=name, deadline=600, **options)(hang.handler())
    return hang


async def deliver(shop: Shop, name: str, count: int) -> list[str]:
    keys = [f"{name}_{number:04}" for number in range(count)]
    await shop.deliver(*keys, type_=f"{name}.x")
    return keys


@pytest.mark.req("R24")
async def test_a_handler_that_hangs_takes_half_of_the_hands_and_all_others_go_on(wide: Shop) -> None:
    hang = hangs(wide)
    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "hang", 100)
    async with running(wide, hands=4):
        await until(lambda: hang.running == 2, "it hangs in all hands that it may have")
        keys = await deliver(wide, "quick", 300)
        await until(lambda: wide.orders_are(keys), "the others are all processed")
        assert hang.running == hang.most == 2
        await until(
            lambda: states_are(wide, {State.DONE: 300, State.READY: 98, State.CLAIMED: 2}), "none waits in hand"
        )
        hang.go_on.set()
        await until(lambda: finished(wide, 400), "and those that hung, in the end")


async def finished(shop: Shop, count: int) -> bool:
    return await shop.states() == {State.DONE: count}


async def test_the_last_hand_is_for_a_handler_that_holds_none(wide: Shop) -> None:
    hung = [hangs(wide, name) for name in ("first", "second", "third")]
    wide.on("quick.*", name="quick")(insert)
    async with running(wide, hands=8):
        for hang, name, share in zip(hung, ("first", "second", "third"), (4, 2, 1), strict=True):
            await deliver(wide, name, 10)
            await until(lambda hang=hang, share=share: hang.running == share, f"{name} has its share")  # type: ignore[misc]
        keys = await deliver(wide, "quick", 50)
        await until(lambda: wide.orders_are(keys), "processed by the last hand")
        assert [hang.most for hang in hung] == [4, 2, 1]
        for hang in hung:
            hang.go_on.set()


async def test_what_is_woken_or_resumed_is_shared_like_everything_else(wide: Shop) -> None:
    """Of a handler that hangs, retries are claimed no sooner than what is new of another one."""
    hang = Hang()
    is_drained = False

    @wide.on("hang.*", deadline=600, attempts=None)
    async def fails_and_hangs(event: Event, tx: Any) -> None:
        if not is_drained:  # again and again: on a slow machine some are due again before all have failed
            raise RuntimeError("not yet")
        await hang(event, tx)

    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "hang", 12)
    await wide.drain()
    is_drained = True
    assert await wide.states() == {State.DELAYED: 12}
    await wide.sql("UPDATE landfast.shelf SET due_at = now() - interval '1 second' WHERE state = 'delayed'")
    async with running(wide, hands=4):
        await until(lambda: hang.running == 2, "woken, and they hang")
        keys = await deliver(wide, "quick", 50)
        await until(lambda: wide.orders_are(keys), "the others are processed")
        assert hang.most == 2
        hang.go_on.set()


async def test_one_event_behind_a_backlog_of_another_handler_is_claimed_next(shop: Shop) -> None:
    ran: list[str] = []

    @shop.on("many.*")
    async def many(event: Event, tx: Any) -> None:
        ran.append(event.key)

    @shop.on("one.*")
    async def one(event: Event, tx: Any) -> None:
        ran.append(event.key)

    await deliver(shop, "many", 1_000)
    await deliver(shop, "one", 1)
    await shop.drain()
    assert await finished(shop, 1_001)
    assert ran.index("one_0000") <= 2


async def test_three_backlogs_take_turns(shop: Shop) -> None:
    ran: list[str] = []
    for name in ("a", "b", "c"):

        async def note(event: Event, tx: Any) -> None:
            ran.append(event.type[0])

        shop.on(f"{name}.*", name=name)(note)
        await deliver(shop, name, 300)
    await shop.drain()
    assert Counter(ran) == {"a": 300, "b": 300, "c": 300}
    first = Counter(ran[:450])
    assert min(first["a"], first["b"], first["c"]) > 50, first


async def test_what_was_claimed_with_a_slow_event_is_given_back_and_done_by_others(wide: Shop) -> None:
    hang = hangs(wide, group=False)
    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "hang", 3)
    keys = await deliver(wide, "quick", 20)
    worker = wide.worker(hands=4)
    worker._relief.slow_after = 600.0  # until the test says so
    async with asyncio.TaskGroup() as tasks:
        chores = [tasks.create_task(worker._settler.run()), tasks.create_task(worker._relief.run())]
        taking = tasks.create_task(worker._hands.take(Pace(size=50)))  # all of them, in one hand
        await until(lambda: hang.running == 1, "one hangs")
        says_slow(worker)
        await until(lambda: is_given_back(wide), "all but the one that runs are given back")
        async with running(wide, hands=4):
            await until(lambda: wide.orders_are(keys), "done by another worker")
            hang.go_on.set()
        await taking
        await worker._settler.flush()
        for chore in chores:
            chore.cancel()
    record = await wide.show("quick_0003")
    assert signals_of(record) == [Signal.RELEASE, Signal.FINISH]
    assert attempts_of(record) == [("quick", 1, "done")]
    assert await wide.state("hang_0000") is State.DONE


def says_slow(worker: Worker) -> None:
    for hold in [*worker._relief._timers]:
        worker._relief._ring(hold)


async def is_given_back(shop: Shop) -> bool:
    return (await shop.states()).get(State.CLAIMED) == 1


async def test_what_is_done_is_settled_although_a_neighbour_of_its_claim_hangs(wide: Shop) -> None:
    hang = hangs(wide)
    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "quick", 20)
    await deliver(wide, "hang", 1)
    worker = wide.worker(hands=4)
    worker._relief.slow_after = 600.0  # until the test says so
    async with asyncio.TaskGroup() as tasks:
        chores = [tasks.create_task(worker._settler.run()), tasks.create_task(worker._relief.run())]
        taking = tasks.create_task(worker._hands.take(Pace(size=50)))
        await until(lambda: hang.running == 1, "it hangs")
        says_slow(worker)
        await until(lambda: states_are(wide, {State.DONE: 20, State.CLAIMED: 1}), "settled")
        hang.go_on.set()
        await taking
        await worker._settler.flush()
        for chore in chores:
            chore.cancel()
    assert signals_of(await wide.show("quick_0000")) == [Signal.FINISH]
    assert not worker._leases.tokens()


async def states_are(shop: Shop, expected: dict[State, int]) -> bool:
    return await shop.states() == expected


async def test_a_handler_that_was_slow_runs_last_in_its_next_claim(wide: Shop) -> None:
    """Of two handlers of one event, the one that hangs does not keep the other from running."""
    ran = asyncio.Event()
    hang = hangs(wide)

    @wide.on("hang.*")
    async def other(event: Event, tx: Any) -> None:
        ran.set()

    async with running(wide, hands=4) as worker:
        await deliver(wide, "hang", 1)
        await until(lambda: worker._shares.slow == {"hang"}, "it hangs")
        assert not ran.is_set()
        await wide.deliver("evt_2", type_="hang.x")
        await asyncio.wait_for(ran.wait(), PATIENCE_SECONDS)
        hang.go_on.set()


@pytest.mark.parametrize("limited", ["handler", "source"])
async def test_no_more_events_than_its_limit_run_at_the_same_time(wide: Shop, limited: str) -> None:
    most = running_now = 0

    @wide.on("a.*", concurrency=1 if limited == "handler" else None)
    async def limited_one(event: Event, tx: Any) -> None:
        nonlocal most, running_now
        running_now += 1
        most = max(most, running_now)
        await tx.execute("SELECT pg_sleep(0.001)")
        running_now -= 1

    wide.on("b.*", name="other", source="market")(insert)
    wide.registry.source_limits = {"stripe": 1} if limited == "source" else {}
    await deliver(wide, "a", 60)
    async with running(wide, hands=8):
        await until(lambda: finished(wide, 60), "all processed")
    assert most == 1


async def test_without_limits_and_with_one_handler_it_may_have_all_hands(wide: Shop) -> None:
    hang = hangs(wide)
    await deliver(wide, "hang", 20)
    async with running(wide, hands=4):
        await until(lambda: hang.running == 4, "all of them")
        hang.go_on.set()


@pytest.mark.parametrize("concurrency", [0, -1, 257])
def test_a_limit_out_of_range_is_refused(shop: Shop, concurrency: int) -> None:
    with pytest.raises(
        ConfigError, match=f"^handler a: concurrency is {concurrency}; it must be a whole number from 1 to 256"
    ):
        shop.on("a.*", name="a", concurrency=concurrency)(insert)


@pytest.mark.parametrize("count", [200, 201, 400])
async def test_a_backlog_of_very_many_types_is_drained_to_the_end(shop: Shop, count: int) -> None:
    async def nothing(event: Event, tx: Any) -> None: ...

    shop.on("made.*", name="made")(nothing)
    shop.on("rare", name="rare")(nothing)
    await deliver_types(shop, *(f"made.up.{number:04}" for number in range(count)))
    await shop.drain()
    assert await finished(shop, 2 * count)


async def deliver_types(shop: Shop, *types: str) -> None:
    """Two events of each."""
    made = [delivery(f"{type_} {number}", source="stripe", type=type_) for type_ in types for number in (1, 2)]
    await shop.inbox.record(sorted(made, key=lambda each: each.event_id))


async def test_types_that_are_full_do_not_hide_those_that_did_not_fit_into_the_look(wide: Shop) -> None:
    hang = hangs(wide, "a.hang")
    wide.on("z.quick", name="quick")(insert)
    await deliver_types(wide, *(f"a.hang.{number:04}" for number in range(250)))
    await wide.deliver("evt_1", type_="z.quick")
    worker = wide.worker(hands=2)
    held = worker._shares.open()
    held.sharers = sharers_of("stripe", wide.registry.handlers[:1])
    await worker._switches.look()
    settling = asyncio.create_task(worker._settler.run())
    await worker._hands.take(Pace())
    worker._settler.close()
    await settling
    assert await wide.orders_are(["evt_1"])
    assert not hang.most


async def test_an_event_of_a_new_type_is_found_at_once_although_each_search_for_new_types_is_slow(
    wide: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a busy machine. Without a thorough look the hand rests, and the event waits for the poll."""
    monkeypatch.setattr(flows, "QUICK_SCAN", 0.0)
    monkeypatch.setattr(flows, "RESCAN_EVERY", 3600.0)
    monkeypatch.setattr(worker_module, "WAKEUP_POLL_SECONDS", 3600.0)
    hang = hangs(wide)
    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "hang", 100)
    async with running(wide, hands=4) as one:
        await until(lambda: hang.running == 2, "it hangs in all hands that it may have")
        await until(lambda: one._pool._at_work == 0, "the others have looked, and rest")
        keys = await deliver(wide, "quick", 1)
        one._pool.call()
        await until(lambda: wide.orders_are(keys), "the new one is processed")
        hang.go_on.set()


async def test_a_slow_ledger_is_no_fault_of_the_handler_that_ran_last(wide: Shop, monkeypatch: Any) -> None:
    """What an attempt came to is concluded when the handler is long through."""
    wide.on("quick.*", name="quick")(insert)
    await deliver(wide, "quick", 1)
    worker = wide.worker(hands=4)
    conclude = Conclusion.conclude

    async def conclude_slowly(self: Conclusion, cases: Any) -> Any:
        says_slow(worker)
        return await conclude(self, cases)

    monkeypatch.setattr(Conclusion, "conclude", conclude_slowly)
    await worker.drain()
    assert await finished(wide, 1)
    assert not worker._shares.slow


async def test_a_ledger_that_is_slow_at_one_hand_does_not_delay_the_relief_of_another(wide: Shop) -> None:
    worker, relieved, stuck = wide.worker(hands=4), asyncio.Event(), asyncio.Event()
    wide.on("quick.*", name="quick")(insert)
    first, second = Hold(), Hold()

    class Ledgers:
        async def let_go(self, hold: Hold) -> list[Any]:
            if hold is second:  # whoever came last is relieved first
                await stuck.wait()
            relieved.set()
            return []

    relief = Relief(Ledgers(), worker._shares, worker._pool, worker._settler)  # type: ignore[arg-type]
    running_it = asyncio.create_task(relief.run())
    try:
        with relief.of(first), relief.of(second):
            for hold in (first, second):
                hold.runs(wide.registry.handlers[0], [])
                relief._ring(hold)
            await asyncio.wait_for(relieved.wait(), PATIENCE_SECONDS)
    finally:
        running_it.cancel()
        await asyncio.gather(running_it, return_exceptions=True)


async def test_what_was_passed_over_is_not_forgotten_when_everybody_has_room_again(wide: Shop) -> None:
    """A claim of the oldest, whoever they are, would take the handlers that are kept free for it."""
    wide.on("*a*", name="a")(insert)
    wide.on("*b*", name="b")(insert)
    await wide.deliver("evt_1", type_="ab")
    worker = wide.worker(hands=2)
    held = worker._shares.open()
    held.sharers = sharers_of("stripe", wide.registry.handlers[:1])
    assert not await worker._hands.take(Pace())
    worker._shares.close(held)
    assert not worker._shares._full()
    assert worker._hands.claiming._is_backlog
