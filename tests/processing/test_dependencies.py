"""A dependency by name: whatever uses it waits while it is away, loses no attempt, and comes back at a growing rate."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.dependency import Dependency
from landfast.domain.effect import EffectState
from landfast.domain.event import Effect, Event
from landfast.domain.lifecycle import State
from landfast.domain.switch import Switch, SwitchKind
from landfast.domain.verdict import WaitFor
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.dependencies import AWAY_IN_A_ROW_TO_OPEN, Dependencies
from landfast.processing.control.switches import Pauses
from landfast.processing.fairness.pace import Pace
from landfast.processing.worker import Worker
from tests.processing.entities import send
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


class Mailer:
    """Something out there: when it was called, and by whom."""

    def __init__(self, shop: Shop, **options: Any) -> None:
        self.clock = shop.clock
        self.is_away = False
        self.calls: list[tuple[float, str]] = []

        given: dict[str, Any] = {"attempts": 1, "uses": ("mailer",), **options}

        @shop.on(**given)
        async def send_mail(event: Event, tx: Any) -> None:
            await self.call(event.key)
            await insert(event, tx)

    async def call(self, who: str) -> None:
        self.calls.append((self.clock.monotonic(), who))
        await asyncio.sleep(0)
        if self.is_away:
            raise ConnectionRefusedError("the mailer does not answer")

    def most_in_a_second(self) -> int:
        return max(Counter(int(at) for at, _ in self.calls).values())


def is_open(worker: Worker, dependency: str = "mailer") -> bool:
    return worker.breakers.breaker(f"dependency:{dependency}").is_open


async def stop_clocks(shop: Shop) -> None:
    """The database's clock, too: a rate that counts by it must not depend on how long the test takes."""
    if shop.store == "postgres":
        for name in ("landfast.clock", "landfast_ledger.clock"):
            await shop.sql(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS timestamptz LANGUAGE sql STABLE "
                f"AS $$ SELECT timestamptz '{shop.clock.now().isoformat()}' $$"
            )


async def pass_time(shop: Shop, worker: Worker, seconds: float, *, step: float = 0.1) -> None:
    """Whoever was woken or let through meanwhile has run."""
    for _ in range(round(seconds / step)):
        shop.clock.advance(step)
        await stop_clocks(shop)
        await worker.drain()


@pytest.fixture
async def shop(shop: Shop) -> Shop:
    await stop_clocks(shop)
    return shop


@pytest.mark.req("R31")
async def test_a_minute_without_its_dependency_burns_no_attempt_and_the_herd_comes_back_at_a_growing_rate(
    shop: Shop,
) -> None:
    """Each event has a single attempt. `bench/herd.py` shows the same with ten thousand events and real workers."""
    shop.registry.add_dependency(Dependency("mailer", rate=40.0))
    mailer = Mailer(shop)
    mailer.is_away = True
    keys = [f"evt_{n:03}" for n in range(200)]
    await shop.deliver(*keys)
    worker = shop.worker()
    await worker.drain()
    await pass_time(shop, worker, 60, step=1)
    assert is_open(worker)
    assert len(mailer.calls) < 40  # a few until it opened, and then a probe every five seconds
    mailer.is_away, back = False, shop.clock.monotonic()
    mailer.calls.clear()
    while not await shop.is_done(200):
        assert shop.clock.monotonic() - back < 30, await shop.states()
        await pass_time(shop, worker, 1, step=0.25)
    assert await shop.orders() == keys
    assert mailer.most_in_a_second() <= 40
    first = [sum(at - mailer.calls[0][0] < seconds for at, _ in mailer.calls) for seconds in (1, 2)]
    assert first[0] <= 15
    assert first[1] <= 40


@pytest.mark.req("R31")
async def test_what_shares_a_dependency_waits_with_it_and_what_does_not_runs_on(shop: Shop) -> None:
    mailer = Mailer(shop)
    other = list[str]()

    @shop.on(uses=("mailer",))
    async def remind(event: Event, tx: Any) -> None:
        other.append(event.key)
        await tx.execute("INSERT INTO orders (key) VALUES ($1)", f"{event.key} reminded")

    @shop.on()
    async def book(event: Event, tx: Any) -> None:
        await tx.execute("INSERT INTO orders (key) VALUES ($1)", f"{event.key} booked")

    mailer.is_away = True
    worker = shop.worker()
    for number in range(AWAY_IN_A_ROW_TO_OPEN):
        await shop.deliver(f"evt_{number}")
        await worker.drain()
    # It answers those who only remind, so failures are not in a row until nobody else asks.
    while not is_open(worker):
        other.clear()
        await pass_time(shop, worker, 1.1, step=1.1)
    other.clear()
    await shop.deliver("evt_9")
    await worker.drain()
    assert other == []
    assert "evt_9 booked" in await shop.orders()


async def test_an_event_that_alone_is_never_answered_dies_of_its_own_attempts(shop: Shop) -> None:

    @shop.on(attempts=2, backoff=Backoff(first=1), uses=("mailer",))
    async def send_mail(event: Event, tx: Any) -> None:
        if event.key == "poison":
            raise TimeoutError("it thinks for ever about this one")
        await insert(event, tx)

    await shop.deliver("poison")
    worker = shop.worker()
    for number in range(12):
        await worker.drain()
        await shop.deliver(f"evt_{number}")
        await pass_time(shop, worker, 100, step=100)
    assert await shop.state("poison") is State.DEAD
    assert len(await shop.orders()) >= 10
    assert not is_open(worker)


async def test_a_handler_says_itself_which_of_two_dependencies_is_away(shop: Shop) -> None:

    @shop.on(attempts=1, uses=("mailer", "crm"))
    async def tell_both(event: Event, tx: Any) -> None:
        raise WaitFor("crm", "its answer was a maintenance page")

    await shop.deliver("evt_1")
    worker = shop.worker()
    await worker.drain()
    assert is_open(worker, "crm")
    assert not is_open(worker, "mailer")
    (switch,) = await shop.inbox.switches()
    assert (switch.kind, switch.name) == (SwitchKind.BREAKER, "dependency:crm")
    assert await shop.state("evt_1") is not State.DEAD


async def test_with_two_dependencies_an_error_that_names_neither_opens_neither(shop: Shop) -> None:
    mailer = Mailer(shop, attempts=1, uses=("mailer", "crm"))
    mailer.is_away = True
    await shop.deliver(*(f"evt_{n}" for n in range(20)))
    worker = shop.worker()
    await worker.drain()
    assert not is_open(worker, "mailer")
    assert not is_open(worker, "crm")
    assert worker.breakers.breaker("handler:send_mail").is_open  # its own, as of any other handler


async def test_a_retry_after_keeps_it_closed_to_all_for_so_long(shop: Shop) -> None:

    class Answer:
        status_code = 503
        headers = {"Retry-After": "90"}  # noqa: RUF012 - as a client's response has it

    class AnsweredError(Exception):
        response = Answer()

    calls = list[str]()

    @shop.on(attempts=1, uses=("mailer",))
    async def send_mail(event: Event, tx: Any) -> None:
        calls.append(event.key)
        raise AnsweredError

    await shop.deliver(*(f"evt_{n}" for n in range(AWAY_IN_A_ROW_TO_OPEN)))
    worker = shop.worker()
    await worker.drain()
    assert is_open(worker)
    await pass_time(shop, worker, 80, step=10)
    assert len(calls) == AWAY_IN_A_ROW_TO_OPEN
    await pass_time(shop, worker, 40, step=10)
    assert len(calls) > AWAY_IN_A_ROW_TO_OPEN


@pytest.mark.req("R31")
async def test_effects_wait_for_what_they_use_and_lose_no_attempt(shop: Shop) -> None:
    shop.registry.add_dependency(Dependency("mailer", rate=20.0))
    sent, is_away = list[tuple[float, str]](), True

    async def mail(effect: Effect, to: str) -> None:
        if is_away:
            raise ConnectionRefusedError("the mailer does not answer")
        sent.append((shop.clock.monotonic(), to))
        assert effect.attempt == 1

    shop.effect(mail, attempts=1, uses=("mailer",))

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("mail", to=event.key)

    await shop.deliver(*(f"evt_{n:02}" for n in range(60)))
    worker = shop.worker()
    await worker.drain()
    await pass_time(shop, worker, 60, step=2)
    assert is_open(worker)
    is_away, back = False, shop.clock.monotonic()
    while (await shop.ledger.counts()).get(EffectState.DONE, 0) < 60:
        assert shop.clock.monotonic() - back < 60
        await pass_time(shop, worker, 1, step=0.25)
    assert sorted(to for _, to in sent) == [f"evt_{n:02}" for n in range(60)]
    assert max(Counter(int(at) for at, _ in sent).values()) <= 20


@pytest.mark.parametrize("of", ["handler", "effect"])
async def test_a_refusal_is_an_answer_so_the_dependency_is_back(shop: Shop, of: str) -> None:
    class AnsweredError(Exception):
        status_code = 503

    async def mail(effect: Effect, to: str) -> None:
        raise AnsweredError

    shop.effect(mail, attempts=1, uses=("mailer",))

    @shop.on(attempts=1, uses=("mailer",) if of == "handler" else ())
    async def create_order(event: Event, tx: Any) -> None:
        if of == "handler":
            raise AnsweredError
        tx.stage("mail", to=event.key)

    await shop.deliver(*(f"evt_{n}" for n in range(AWAY_IN_A_ROW_TO_OPEN)))
    worker = shop.worker()
    await worker.drain()
    assert is_open(worker)
    AnsweredError.status_code = 404
    await pass_time(shop, worker, 20, step=2)
    assert not is_open(worker)


async def test_events_of_one_lane_are_called_at_the_rate_and_take_no_places_that_nobody_comes_back_for(
    shop: Shop,
) -> None:
    """Each claim has many of them, as that of a worker with a backlog has, and only the first of a lane can begin."""
    shop.registry.add_dependency(Dependency("mailer", rate=10.0))
    mailer = Mailer(shop, ordered=True)
    keys = [f"evt_{n:02}" for n in range(40)]
    for second, key in enumerate(keys):
        await send(shop, key, "order.created", "cus_1", second=second, amount=1)
    await shop.inbox.order(shop.registry.ordered_sources)
    worker, pace, began = shop.worker(), Pace(size=50), shop.clock.monotonic()
    settling = asyncio.create_task(worker._settler.run())
    while not await shop.is_done(len(keys)):
        assert shop.clock.monotonic() - began < 10, await shop.states()
        while await worker._hands.take(pace):
            await worker._settler.flush()
        next_place = await shop.inbox.let_through("mailer", wanted=0, behind=1, rate=10.0, spacing=1_000.0)
        assert next_place.waits[0] < 1.0
        shop.clock.advance(0.2)
        await stop_clocks(shop)
    worker._settler.close()
    await settling
    assert [key for _, key in mailer.calls] == keys
    assert mailer.most_in_a_second() <= 10


async def test_effects_that_wait_in_one_worker_let_no_other_worker_exceed_the_rate(shop: Shop) -> None:
    """One of them takes the dependency for away, or paused, and the other does not know it yet."""
    declared = {"mailer": Dependency("mailer", rate=1.0)}
    away, paused, calling = (Dependencies(Breakers(shop.clock), shop.inbox, declared, Pauses()) for _ in range(3))
    away.breakers.open("dependency:mailer", "it does not answer", at_least=60.0)
    moves = Switch(SwitchKind.DEPENDENCY, "mailer", "it moves house", "ada", shop.clock.now())
    paused.pauses.dependencies = {"mailer": moves}
    began = 0
    for _ in range(20):
        began += (await calling.admit(("mailer",), wanted=1, behind=0)).granted
        for other in (away, paused):
            async with other.turn_of_effect(("mailer",)) as wait:
                assert wait
        shop.clock.advance(0.25)
        await stop_clocks(shop)
    assert 3 <= began <= 6


async def test_an_operator_pauses_a_dependency_for_handlers_and_effects(shop: Shop) -> None:
    mailer = Mailer(shop)
    sent = list[str]()

    async def mail(effect: Effect, to: str) -> None:
        sent.append(to)

    shop.effect(mail, uses=("mailer",))

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        tx.stage("mail", to=event.key)

    await shop.inbox.throw(SwitchKind.DEPENDENCY, "mailer", why="it moves house", who="ada")
    await shop.deliver("evt_1")
    worker = shop.worker()
    await worker.drain()
    await pass_time(shop, worker, 60, step=20)
    assert (mailer.calls, sent) == ([], [])
    assert await shop.state("evt_1") is State.PAUSED
    await shop.inbox.lift(SwitchKind.DEPENDENCY, "mailer")
    await pass_time(shop, worker, 60, step=20)
    assert (len(mailer.calls), sent) == (1, ["evt_1"])
    assert await shop.state("evt_1") is State.DONE
