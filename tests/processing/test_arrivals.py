"""Steps that wait for other events: for those that come later, those that came before, and those that never come."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from landfast.domain.arrival import Arrival
from landfast.domain.effect import EffectState
from landfast.domain.errors import CommitUnknownError, StagingError
from landfast.domain.event import Effect, Event
from landfast.domain.lifecycle import State
from landfast.testing.witness import Watched
from tests.processing.shop import Shop
from tests.processing.test_effects import performed
from tests.processing.test_exactly_once import insert

DAY = timedelta(hours=24)
PAID = Arrival(source="stripe", type="charge.succeeded", entity=lambda event: event.data["of"])


class Orders:
    """An order waits for the payment of its customer, a day at most."""

    def __init__(self, shop: Shop, *, on_deadline: str = "run", back: timedelta = timedelta(hours=1)) -> None:
        self.shop = shop
        self.did: list[tuple[str, bool]] = []
        """Which orders were fulfilled, and whether they had timed out."""
        shop.registry.add_arrival(PAID)

        @shop.effect
        async def fulfil(effect: Effect, order: str) -> None:
            self.did.append((order, effect.timed_out))

        @shop.effect
        async def pack(effect: Effect) -> None:
            """Beside the payment."""

        @shop.on("order.placed")
        async def place(event: Event, tx: Any) -> None:
            await insert(event, tx)
            paid = PAID.of(event.data["of"], deadline=DAY, on_deadline=on_deadline, back=back)
            tx.stage(fulfil, after=[tx.stage(pack), paid], order=event.key)

        @shop.on("charge.succeeded")
        async def book(event: Event, tx: Any) -> None:
            await insert(event, tx)

    async def placed(self, *keys: str, of: str = "cus_1") -> None:
        await self.shop.deliver(*keys, type_="order.placed", body=b'{"of":"%s","amount":1}' % of.encode())

    async def paid(self, *keys: str, of: str = "cus_1") -> None:
        await self.shop.deliver(*keys, type_="charge.succeeded", body=b'{"of":"%s","amount":1}' % of.encode())


@pytest.mark.req("R30")
async def test_a_step_begins_when_the_event_was_handled_that_it_waits_for(shop: Shop) -> None:
    orders = Orders(shop)
    await orders.placed("o1")
    await shop.drain()
    await orders.paid("of_another", of="cus_2")
    await shop.drain()
    assert orders.did == []
    assert await performed(shop) == {EffectState.DONE: 1, EffectState.DELAYED: 1, EffectState.WAITING: 1}
    await orders.paid("c1")
    await shop.drain()
    assert orders.did == [("o1", False)]
    await orders.paid("c2")
    await shop.advance(2 * DAY.total_seconds())
    await shop.drain()
    assert orders.did == [("o1", False)], "neither another payment nor the deadline repeats it"


@pytest.mark.req("R30")
async def test_an_event_that_came_before_it_was_waited_for_counts(shop: Shop) -> None:
    orders = Orders(shop)
    await orders.paid("c1")
    await shop.drain()
    await shop.advance(1_800)
    await orders.placed("o1")
    await shop.drain()
    assert orders.did == [("o1", False)]
    await shop.advance(7_200)
    await orders.placed("o2")
    await shop.drain()
    assert orders.did == [("o1", False)], "too long ago to be about this one"


@pytest.mark.req("R30")
async def test_at_its_deadline_a_step_runs_and_is_told(shop: Shop) -> None:
    orders = Orders(shop)
    await orders.placed("o1")
    await shop.drain()
    await shop.advance(DAY.total_seconds() + 1)
    await shop.drain()
    assert orders.did == [("o1", True)]
    await orders.paid("c1")
    await shop.drain()
    assert orders.did == [("o1", True)]


@pytest.mark.req("R30")
async def test_or_what_waits_is_a_dead_letter_until_an_operator_looks_again(shop: Shop) -> None:
    orders = Orders(shop, on_deadline="dead")
    await orders.placed("o1")
    await shop.drain()
    await shop.advance(DAY.total_seconds() + 1)
    await shop.drain()
    [dead] = await shop.ledger.list(state=EffectState.DEAD, limit=9)
    assert (dead["name"], dead["error"]) == ("stripe:charge.succeeded", "timed_out")
    assert dead["message"].startswith("no charge.succeeded of stripe about its entity was handled within 1 day")
    await shop.ledger.revive([(dead["key"], dead["run"])])
    await shop.drain()
    assert (orders.did, (await performed(shop))[EffectState.DEAD]) == ([], 1), "it has still not come"
    await orders.paid("c1")
    await shop.drain()
    await shop.ledger.revive([(dead["key"], dead["run"])])
    await shop.drain()
    assert orders.did == [("o1", False)]


async def test_a_failed_attempt_brings_nothing_and_a_handler_that_did_not_run_neither(shop: Shop) -> None:
    orders = Orders(shop)
    shop.registry.handlers.clear()
    fails = [True]

    @shop.on("charge.succeeded")
    async def book(event: Event, tx: Any) -> None:
        await insert(event, tx)
        if fails:
            raise ConnectionError("away")

    @shop.on("order.placed")
    async def place(event: Event, tx: Any) -> None:
        tx.stage("fulfil", after=[PAID.of("cus_1", deadline=DAY)], order=event.key)

    await orders.placed("o1")
    await orders.paid("c1")
    await shop.drain()
    assert orders.did == []
    fails.clear()
    await shop.advance(3_600)
    await shop.drain()
    assert orders.did == [("o1", False)]


@pytest.mark.req("R22")
async def test_whatever_is_lost_around_a_commit_who_waits_is_told_once(shop: Shop) -> None:
    orders = Orders(shop, back=DAY)
    for number, (lost, when) in enumerate(product(("place", "book"), ("before", "after"))):
        orders.did.clear()
        await orders.placed(f"o{number}", of=f"cus_{number}")
        await (unanswered(shop, when) if lost == "place" else shop.drain())
        await orders.paid(f"c{number}", of=f"cus_{number}")
        await (unanswered(shop, when) if lost == "book" else shop.drain())
        await shop.settle_down()
        assert orders.did == [(f"o{number}", False)], (lost, when)
    assert set(await shop.states()) == {State.DONE}


async def unanswered(shop: Shop, when: str) -> None:
    """The connection is lost around the next COMMIT, and nobody knows whether there was one."""
    lost: list[bool] = []

    async def begin(**how: Any) -> Any:
        tx = await whole.begin(**how)

        async def commit(**what: Any) -> None:
            if lost or when == "after":
                await tx.commit(**what)
            if not lost:
                lost.append(True)
                raise CommitUnknownError("no answer")

        return Watched(tx, commit=commit)

    whole, shop.ledger = shop.ledger, Watched(shop.ledger, begin=begin)
    worker, shop.ledger = shop.worker(effects=whole), whole
    await worker.drain()
    assert lost


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"entity": ""}, "the entity is a text"),
        ({"deadline": 24}, "deadline is 24; it is a timedelta"),
        ({"deadline": timedelta(days=400)}, "at most 366 days"),
        ({"on_deadline": "cancel"}, "on_deadline is 'cancel'; it is 'dead' or 'run'"),
        ({"back": timedelta(-1)}, "back is"),
    ],
)
def test_what_cannot_be_waited_for_is_one_sentence(asked: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"entity": "cus_1", "deadline": DAY} | asked
    with pytest.raises(StagingError, match=told):
        PAID.of(given.pop("entity"), **given)


async def test_two_steps_that_wait_alike_share_what_stands_for_the_event(shop: Shop) -> None:
    done: list[str] = []
    shop.registry.add_arrival(PAID)

    @shop.effect
    async def fulfil(effect: Effect, order: str) -> None:
        done.append(order)

    @shop.on("order.placed")
    async def place(event: Event, tx: Any) -> None:
        for name in ("a", "b"):
            tx.stage(fulfil, named=name, after=[PAID.of("cus_1", deadline=DAY)], order=name)
        tx.stage(fulfil, named="c", after=[PAID.of("cus_1", deadline=2 * DAY)], order="c")

    @shop.on("charge.succeeded")
    async def book(event: Event, tx: Any) -> None:
        await insert(event, tx)

    await shop.deliver("o1", type_="order.placed", body=b'{"of":"cus_1","amount":1}')
    await shop.drain()
    assert await performed(shop) == {EffectState.DELAYED: 2, EffectState.WAITING: 3}
    await shop.deliver("c1", type_="charge.succeeded", body=b'{"of":"cus_1","amount":1}')
    await shop.drain()
    assert sorted(done) == ["a", "b", "c"]
