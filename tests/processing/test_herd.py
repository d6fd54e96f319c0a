"""A dependency that is away: its handler stops asking, nobody pays for it, and nobody stampedes when it is back."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import pytest

from landfast.domain.backoff import Backoff
from landfast.domain.errors import DeadlineError
from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.domain.verdict import RetryLater
from landfast.processing.control.breakers import AWAY_EVENTS_TO_OPEN
from landfast.processing.judge import is_away
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_switches import another, is_open, two_workers
from tests.processing.test_worker import live, running, until

__all__ = ["live"]


class Crm:
    """Something out there, and how often it is asked."""

    def __init__(self) -> None:
        self.is_away = False
        self.calls = self.now = self.most = 0

    async def ask(self) -> None:
        self.calls += 1
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            if self.is_away:
                raise ConnectionRefusedError("the CRM does not answer")
        finally:
            self.now -= 1


def with_crm(shop: Shop, **options: Any) -> Crm:
    crm = Crm()

    @shop.on(**({"attempts": 2} | options))
    async def call_crm(event: Event, tx: Any) -> None:
        await crm.ask()
        await insert(event, tx)

    return crm


@pytest.mark.req("R31")
async def test_two_thousand_events_survive_an_outage_of_their_dependency_and_come_back_without_a_stampede(
    live: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    crm = with_crm(live)
    crm.is_away = True
    keys = [f"evt_{n:04}" for n in range(2000)]
    await live.deliver(*keys)
    hands = 1 if live.store == "sqlite" else 4
    async with running(live, hands=hands) as worker:
        await until(lambda: is_open(worker, "call_crm"), "the breaker opened")
        await until(lambda: mostly(live, State.PAUSED, 1900), "they wait")
        asked = crm.calls
        assert asked < 60, asked  # of a group, each is tried with the others and alone until enough have failed
        crm.is_away = False
        await until(lambda: live.orders_are(keys), "all processed")
        await until(lambda: live.is_done(2000), "all settled")
        assert not is_open(worker, "call_crm")
    assert crm.most <= hands
    assert (
        caplog.text.count("handler_failed") < AWAY_EVENTS_TO_OPEN + hands
    )  # each a counted attempt; a second one would be death
    assert caplog.text.count("handler_breaker_opened") == caplog.text.count("handler_breaker_closed") == 1


async def mostly(shop: Shop, state: State, count: int) -> bool:
    return (await shop.states()).get(state, 0) >= count


@pytest.mark.req("R31")
async def test_an_outage_of_any_length_costs_no_event_its_last_attempt(shop: Shop) -> None:
    crm = with_crm(shop, attempts=2)
    crm.is_away = True
    await shop.deliver(*(f"evt_{n:02}" for n in range(40)))
    worker = shop.worker()
    for _ in range(30):
        await worker.drain()
        await shop.advance(60)
    assert State.DEAD not in await shop.states()
    assert crm.calls < 100
    crm.is_away = False
    for _ in range(5):
        await worker.drain()
        await shop.advance(60)
    assert await shop.states() == {State.DONE: 40}
    assert len(await shop.orders()) == 40


async def test_one_probe_at_a_time_asks_whether_it_is_back(shop: Shop) -> None:
    crm = with_crm(shop)
    crm.is_away = True
    await shop.deliver(*(f"evt_{n:02}" for n in range(40)))
    worker = shop.worker()
    await worker.drain()
    assert is_open(worker, "call_crm")
    for _ in range(4):
        before = crm.calls
        await shop.advance(31)
        await worker.drain()
        assert crm.calls == before + 1


async def test_a_breaker_that_opened_on_one_worker_opens_on_the_other(live: Shop) -> None:
    crm = with_crm(live, attempts=4)  # on each of them an event may fail before that one's breaker opens
    crm.is_away = True
    async with two_workers(live) as workers:
        await live.deliver(*(f"evt_{n:02}" for n in range(40)))
        await until(lambda: all(is_open(worker, "call_crm") for worker in workers), "open on both")
        crm.is_away = False
        await until(lambda: live.is_done(40), "and they go on")
    assert len(await live.orders()) == 40


async def test_an_event_that_alone_is_never_answered_ends_as_a_dead_letter_and_stops_nobody(shop: Shop) -> None:
    @shop.on(attempts=12, backoff=Backoff(first=1))
    async def call_crm(event: Event, tx: Any) -> None:
        if event.key == "poison":
            raise TimeoutError("it thinks for ever about this one")
        await insert(event, tx)

    await shop.deliver("poison")
    worker = shop.worker()
    for _ in range(12):
        await worker.drain()
        assert not is_open(worker, "call_crm")
        await shop.advance(4000)
    assert await shop.state("poison") is State.DEAD


async def test_a_few_that_are_never_answered_do_not_keep_the_others_waiting_for_ever(shop: Shop) -> None:
    """As many as open the breaker, and nothing else to try for a while."""

    @shop.on(attempts=3, backoff=Backoff(first=1))
    async def call_crm(event: Event, tx: Any) -> None:
        if event.key.startswith("poison"):
            raise TimeoutError("it thinks for ever about these")
        await insert(event, tx)

    await shop.deliver(*(f"poison_{n}" for n in range(AWAY_EVENTS_TO_OPEN)))
    worker = shop.worker()
    await worker.drain()
    assert is_open(worker, "call_crm")
    await shop.deliver("well")
    rounds = 0
    while not await shop.state_is("well", State.DONE):
        rounds += 1
        assert rounds < 60, "it is never tried"
        await shop.advance(31)
        await worker.drain()
    assert await shop.orders() == ["well"]


async def test_every_wait_ends_even_where_nothing_is_ever_answered_again(shop: Shop) -> None:
    crm = with_crm(shop, attempts=2, backoff=Backoff(first=1, total=7200))
    crm.is_away = True
    await shop.deliver(*(f"evt_{n:02}" for n in range(AWAY_EVENTS_TO_OPEN + 2)))
    worker, began = shop.worker(), shop.clock.monotonic()
    while await shop.states() != {State.DEAD: AWAY_EVENTS_TO_OPEN + 2}:
        waited = shop.clock.monotonic() - began
        assert waited < 2 * 7200, await shop.states()
        assert waited > 7200 or State.DEAD not in await shop.states()
        await worker.drain()
        await shop.advance(600 if waited < 6000 else 61)


@pytest.mark.req("R31")
@pytest.mark.parametrize("uses", [(), ("crm",)], ids=["its own breaker", "a dependency"])
async def test_what_came_long_ago_and_is_replayed_during_an_outage_does_not_die_of_it(
    shop: Shop, uses: tuple[str, ...]
) -> None:
    crm = with_crm(shop, attempts=1, uses=uses)
    ids = await shop.deliver(*(f"evt_{n:02}" for n in range(3)), body=b"{}")  # without what the handler writes
    await shop.drain()
    assert await shop.states() == {State.DEAD: 3}
    await shop.advance(5 * 86_400)
    crm.is_away = True
    worker = shop.worker()
    # Other events have opened it: these here are too few.
    worker.breakers.open("dependency:crm" if uses else "handler:call_crm", "it is away")
    await shop.inbox.replay(ids, forced=False, who="ada")
    for _ in range(6):
        await worker.drain()
        await shop.advance(60)
    assert State.DEAD not in await shop.states()
    assert crm.calls >= 3 + 5  # they were tried
    await shop.advance(3 * 86_400)
    for _ in range(6):
        await worker.drain()
        await shop.advance(60)
    assert await shop.states() == {State.DEAD: 3}  # for this wait ends, too


async def test_events_that_a_dead_workers_breaker_had_put_aside_are_found_by_the_next(shop: Shop) -> None:
    crm = with_crm(shop)
    crm.is_away = True
    await shop.deliver(*(f"evt_{n:02}" for n in range(40)))
    await shop.drain()
    assert await mostly(shop, State.PAUSED, 20)
    crm.is_away = False
    await shop.advance(60)
    async with another(shop) as other:
        await other.drain()
    assert await shop.is_done(40)


class AnswerError(Exception):
    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status_code = status


class TransportError(Exception):
    """As httpx calls it."""


class ReadError(TransportError): ...


@pytest.mark.parametrize(
    "error",
    [ConnectionResetError(), TimeoutError(), socket.gaierror(), DeadlineError(), ReadError()]
    + [AnswerError(status) for status in (500, 502, 503, 504, 408, 429)],
    ids=repr,
)
def test_these_say_that_something_is_away(error: Exception) -> None:
    assert is_away(error)


@pytest.mark.parametrize(
    "error",
    [RuntimeError(), KeyError("id"), ValueError(), FileNotFoundError(), RetryLater(after=5)]
    + [AnswerError(status) for status in (400, 404, 409, 422, 423)],
    ids=repr,
)
def test_these_are_about_one_event(error: Exception) -> None:
    assert not is_away(error)
