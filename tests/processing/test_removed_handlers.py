"""A deploy takes a handler away while its event still waits for another one."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.lifecycle import State
from landfast.domain.switch import SwitchKind
from landfast.domain.unhandled import Wants
from landfast.domain.verdict import GiveUp, RetryLater
from landfast.recovery.proof import prove
from landfast.recovery.switches import resume
from landfast.testing.clock import SeededChance
from tests.processing.shop import Shop
from tests.processing.test_exactly_once import insert


def deploy_without(shop: Shop, name: str) -> None:
    shop.registry.handlers = [handler for handler in shop.registry.handlers if handler.name != name]
    shop.registry._known.clear()


async def gives_up(event: Event, tx: Any) -> None:
    raise GiveUp("never")


async def noop(event: Event, tx: Any) -> None: ...


async def proof_holds(shop: Shop) -> bool:
    return (await prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance())).holds


async def finished_by(shop: Shop) -> tuple[HandlerName, ...] | None:
    (found,) = [one async for chunk in shop.inbox.walk_done(Filter(), chunk=9) for one in chunk]
    handlers: tuple[HandlerName, ...] | None = found.handlers
    return handlers


async def test_a_tombstone_is_not_forgotten_while_another_handler_is_paused(shop: Shop) -> None:
    shop.on("order.created", name="crm")(gives_up)
    shop.on("order.created", name="create_order")(insert)
    await shop.inbox.throw(SwitchKind.HANDLER, "create_order", why="maintenance", who="selma")
    await shop.deliver("evt_1")
    await shop.drain()
    assert await shop.state("evt_1") is State.PAUSED
    deploy_without(shop, "crm")
    await resume(shop.inbox, SwitchKind.HANDLER, "create_order")
    await shop.settle_down()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.reason, summary.handler) == (State.DEAD, "gave_up", "crm")
    assert await shop.orders() == ["evt_1"]
    assert await proof_holds(shop)


async def test_a_tombstone_is_not_forgotten_while_another_handler_waits_for_later(shop: Shop) -> None:
    later = [1]

    @shop.on("order.created")
    async def create_order(event: Event, tx: Any) -> None:
        if later:
            later.pop()
            raise RetryLater("soon", after=30)
        await insert(event, tx)

    shop.on("order.created", name="crm")(gives_up)
    await shop.deliver("evt_1")
    await shop.drain()
    deploy_without(shop, "crm")
    await shop.settle_down()
    assert (await shop.show("evt_1")).summary.handler == "crm"
    assert await shop.state("evt_1") is State.DEAD
    await shop.inbox.replay([(await shop.show("evt_1")).summary.event_id], forced=False, who="selma")
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DONE, "a replay clears it"
    assert await proof_holds(shop)


async def test_a_tombstone_is_not_forgotten_when_no_handler_is_left(shop: Shop) -> None:
    shop.on("order.created", name="crm")(gives_up)
    shop.on("order.created", name="create_order")(insert)
    await shop.inbox.throw(SwitchKind.HANDLER, "create_order", why="maintenance", who="selma")
    await shop.deliver("evt_1")
    await shop.drain()
    deploy_without(shop, "crm")
    deploy_without(shop, "create_order")
    await resume(shop.inbox, SwitchKind.HANDLER, "create_order")
    await shop.settle_down()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.handler) == (State.DEAD, "crm")


@pytest.mark.req("R61")
async def test_a_tombstone_is_not_forgotten_when_its_type_is_ignored(shop: Shop) -> None:
    shop.on("order.created", name="crm")(gives_up)
    shop.on("order.created", name="create_order")(insert)
    await shop.inbox.throw(SwitchKind.HANDLER, "create_order", why="maintenance", who="selma")
    await shop.deliver("evt_1")
    await shop.drain()
    shop.registry.wants = {"stripe": Wants(ignore=("order.*",))}
    await resume(shop.inbox, SwitchKind.HANDLER, "create_order")
    await shop.settle_down()
    summary = (await shop.show("evt_1")).summary
    assert (summary.state, summary.handler) == (State.DEAD, "crm")
    assert await proof_holds(shop)


@pytest.mark.req("R61")
async def test_a_handler_that_was_done_and_then_removed_is_still_named(shop: Shop) -> None:
    fails = [1]

    @shop.on("order.created")
    async def crm(event: Event, tx: Any) -> None:
        if fails:
            raise ValueError(fails.pop())

    shop.on("order.created", name="create_order")(insert)
    await shop.deliver("evt_1")
    await shop.drain()
    deploy_without(shop, "create_order")
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DONE
    assert set(await finished_by(shop) or ()) == {"create_order", "crm"}
    assert await proof_holds(shop)


async def test_a_handler_whose_settlement_was_lost_and_that_was_then_removed_is_still_named(shop: Shop) -> None:
    """Its worker died after the COMMIT: nothing but the ledger knows of it."""
    shop.on("order.created", name="create_order")(insert)
    await shop.deliver("evt_1")
    settle = shop.inbox.settle

    async def lost(settlements: Any) -> Any:
        return [True] * len(settlements)

    shop.inbox.settle = lost
    await shop.drain()
    shop.inbox.settle = settle
    deploy_without(shop, "create_order")

    @shop.on("order.created")
    async def crm(event: Event, tx: Any) -> None: ...

    await shop.advance(3_600)
    await shop.settle_down()
    assert await shop.state("evt_1") is State.DONE
    assert set(await finished_by(shop) or ()) == {"create_order", "crm"}


async def test_an_event_that_is_done_at_once_names_its_handler_and_asks_the_ledger_nothing_more(shop: Shop) -> None:
    shop.on("order.created", name="create_order")(insert)
    receipts, asked = shop.ledger.receipts, []

    async def asks(digests: Any) -> Any:
        asked.append(digests)
        return await receipts(digests)

    shop.ledger.receipts = asks
    await shop.deliver("evt_1")
    await shop.drain()
    assert asked == []
    assert await finished_by(shop) == ("create_order",)


@pytest.mark.req("R61")
async def test_a_forced_replay_is_proven_also_when_one_of_its_handlers_was_removed(shop: Shop) -> None:
    shop.on("order.created", name="crm")(noop)
    shop.on("order.created", name="create_order")(noop)
    await shop.deliver("evt_1")
    await shop.drain()
    deploy_without(shop, "crm")
    event = (await shop.show("evt_1")).summary.event_id
    for forced in (True, False, True):
        await shop.inbox.replay([event], forced=forced, who="selma")
        await shop.settle_down()
        assert await shop.state("evt_1") is State.DONE
        assert await proof_holds(shop)
    await shop.inbox.recover([event], who="selma")
    await shop.settle_down()
    assert await proof_holds(shop)
