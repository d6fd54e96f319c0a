"""A replay of one handler of several: what the others came to stands."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.ids import HandlerName, event_id
from landfast.domain.lifecycle import State
from landfast.recovery.proof import prove
from landfast.testing.clock import SeededChance
from tests.processing.shop import Shop

EVENT = event_id("stripe", "evt_1")


async def insert(event: Event, tx: Any) -> None:
    await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", event.key)


async def _replay(shop: Shop, handler: str, *, forced: bool = False) -> None:
    assert await shop.inbox.replay([EVENT], forced=forced, who="ana", only=HandlerName(handler)) == 1
    await shop.settle_down()


async def _is_proven(shop: Shop) -> bool:
    proof = await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance(3))
    return (proof.lost, proof.doubled, proof.unproven) == (0, 0, ())


@pytest.mark.req("R26")
async def test_only_the_named_handler_runs_again(shop: Shop) -> None:
    calls: list[tuple[str, int]] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        calls.append(("order", event.run))
        await insert(event, tx)

    @shop.on()
    async def send_receipt(event: Event, tx: Any) -> None:
        calls.append(("receipt", event.run))

    await shop.deliver("evt_1")
    await shop.settle_down()
    await _replay(shop, "send_receipt", forced=True)
    assert calls == [("order", 1), ("receipt", 1), ("receipt", 2)]
    assert await shop.state("evt_1") is State.DONE
    assert await shop.orders() == ["evt_1"]
    await _replay(shop, "send_receipt")
    assert len(calls) == 3  # it is done, and nobody forced it
    assert await _is_proven(shop)


async def test_what_is_dead_of_the_others_stays_dead_until_it_is_replayed(shop: Shop) -> None:
    broken = {"create_order", "send_receipt"}
    calls: list[tuple[str, int]] = []

    def run(event: Event, name: str) -> None:
        calls.append((name, event.run))
        if name in broken:
            raise LookupError(f"{name} is broken")

    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        run(event, "create_order")
        await insert(event, tx)

    @shop.on(attempts=1)
    async def send_receipt(event: Event, tx: Any) -> None:
        run(event, "send_receipt")

    await shop.deliver("evt_1")
    await shop.settle_down()
    broken.clear()
    await _replay(shop, "create_order")
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.handler, summary.error) == (State.DEAD, "send_receipt", "LookupError")
    assert await shop.orders() == ["evt_1"]
    await _replay(shop, "send_receipt")
    assert await shop.state("evt_1") is State.DONE
    assert calls[2:] == [("create_order", 2), ("send_receipt", 3)]
    assert await shop.orders() == ["evt_1"]
    assert await _is_proven(shop)


async def test_a_retry_in_such_a_run_still_runs_that_handler_alone(shop: Shop) -> None:
    calls: list[tuple[str, int]] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        calls.append(("order", event.run))

    @shop.on()
    async def send_receipt(event: Event, tx: Any) -> None:
        calls.append(("receipt", event.run))
        if event.run == 2 and event.attempt < 3:
            raise LookupError("not yet")

    await shop.deliver("evt_1")
    await shop.settle_down()
    await _replay(shop, "send_receipt", forced=True)
    assert calls == [("order", 1), ("receipt", 1)] + [("receipt", 2)] * 3
    assert await shop.state("evt_1") is State.DONE


async def test_a_handler_that_nobody_has_makes_it_a_dead_letter_that_says_so(shop: Shop) -> None:
    @shop.on()
    async def create_order(event: Event, tx: Any) -> None: ...

    await shop.deliver("evt_1")
    await shop.settle_down()
    await _replay(shop, "gone")
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.handler) == (State.DEAD, "no_handler", "gone")
    assert "for the handler gone alone" in summary.message


async def test_a_hastened_event_runs_all_of_its_handlers_that_wait(shop: Shop) -> None:
    calls: list[str] = []
    broken = {"first", "second"}

    def run(name: str) -> None:
        calls.append(name)
        if name in broken:
            raise LookupError(name)

    @shop.on()
    async def first(event: Event, tx: Any) -> None:
        run("first")

    @shop.on()
    async def second(event: Event, tx: Any) -> None:
        run("second")

    await shop.deliver("evt_1")
    await shop.drain()
    summary = (await shop.show("evt_1")).summary
    assert summary.state is State.DELAYED
    assert (summary.handler in {"first", "second"}, summary.line[:20]) == (True, "test_one_handler.py:")
    broken.clear()
    await shop.drain()
    assert len(calls) == 2  # their time has not come
    assert await shop.inbox.hasten([EVENT], who="ana") == 1
    await shop.drain()
    assert calls == ["first", "second", "first", "second"]
    assert await shop.state("evt_1") is State.DONE


async def test_a_dead_letter_that_was_discarded_leaves_the_proof_exact(shop: Shop) -> None:
    @shop.on(attempts=1)
    async def create_order(event: Event, tx: Any) -> None:
        if event.run == 1:
            raise LookupError("a bug")
        await insert(event, tx)

    await shop.deliver("evt_1")
    await shop.settle_down()
    assert await shop.inbox.close_dead([EVENT], who="ana", why="sent by mistake") == 1
    assert await shop.state("evt_1") is State.DONE
    assert await _is_proven(shop)
    assert await shop.inbox.replay([EVENT], forced=False, who="ana") == 1
    await shop.settle_down()
    assert await shop.orders() == ["evt_1"]
    assert await _is_proven(shop)
