"""What becomes of events that no handler takes, and of those that nobody wants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from landfast.domain.lifecycle import Signal, State
from landfast.domain.unhandled import Unhandled, UnhandledCount, Wants
from landfast.processing.control import requeue
from landfast.recovery import proof
from landfast.testing.clock import SeededChance
from tests.processing.shop import Shop


def orders(shop: Shop, pattern: str = "order.*") -> None:
    @shop.on(pattern)
    async def create_order(event: Any, tx: Any) -> None:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, $2)", event.key, 1)


@pytest.mark.parametrize(
    ("then", "state", "reason", "signal"),
    [
        (Unhandled.KEEP, State.UNHANDLED, "no_handler", Signal.NO_HANDLER),
        (Unhandled.DONE, State.DONE, "unhandled", Signal.DISMISS),
        (Unhandled.DEAD, State.DEAD, "no_handler", Signal.REFUSE),
    ],
)
async def test_a_source_says_what_becomes_of_a_type_without_a_handler(
    shop: Shop, then: Unhandled, state: State, reason: str, signal: Signal
) -> None:
    orders(shop)
    shop.registry.wants = {"stripe": Wants(then)}
    await shop.deliver("evt_1", type_="invoice.paid")
    await shop.deliver("evt_2", type_="order.created")
    await shop.drain()
    shown = await shop.show("evt_1")
    assert (shown.summary.state, shown.summary.reason) == (state, reason)
    assert [line.signal for line in shown.history] == [signal]
    assert await shop.orders() == ["evt_2"]
    (done,) = [one for one in await _equations(shop) if one.name == "done has its receipts"]
    assert done.holds, done


async def test_what_is_ignored_is_done_at_once_whatever_handlers_there_are(shop: Shop) -> None:
    orders(shop, "*")
    shop.registry.wants = {"stripe": Wants(ignore=("invoice.*", "ping"))}
    await shop.deliver("evt_1", type_="invoice.paid")
    await shop.deliver("evt_2", type_="ping", body=b"not even JSON")
    await shop.deliver("evt_3", type_="pings")
    await shop.drain()
    assert [(await shop.show(key)).summary.reason for key in ("evt_1", "evt_2")] == ["ignored", "ignored"]
    assert await shop.is_done(3)
    assert await shop.orders() == ["evt_3"]


@pytest.mark.parametrize("wants", [Wants(Unhandled.DONE), Wants(ignore=("order.*",))])
async def test_what_waited_is_let_go_once_the_source_says_so(shop: Shop, wants: Wants) -> None:
    await shop.deliver("evt_1", "evt_2", type_="order.created")
    await shop.drain()
    assert await shop.states() == {State.UNHANDLED: 2}
    shop.registry.wants = {"stripe": wants}
    await shop.drain()
    assert await shop.is_done(2)
    assert list(await shop.inbox.unhandled()) == []


async def test_what_waited_is_taken_up_by_a_handler_of_its_type_and_nothing_else_is_touched(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requeue, "REQUEUE_BATCH_EVENTS", 2)
    await shop.deliver(*(f"evt_{number}" for number in range(5)), type_="order.created")
    await shop.deliver("other", type_="invoice.paid")
    await shop.drain()
    asked: list[str] = []
    before = shop.inbox.requeue

    async def listening(*, source: str, type: str, limit: int) -> int:  # noqa: A002 - as the port has it
        asked.append(type)
        return int(await before(source=source, type=type, limit=limit))

    shop.inbox.requeue = listening
    orders(shop)
    await shop.drain()
    assert asked == ["order.created"] * 3
    assert len(await shop.orders()) == 5
    assert list(await shop.inbox.unhandled()) == [UnhandledCount("stripe", "invoice.paid", 1)]


async def test_a_worker_without_anything_to_take_up_asks_for_the_counts_alone(shop: Shop) -> None:
    orders(shop)
    await shop.deliver("other", type_="invoice.paid")
    await shop.drain()
    shop.inbox.requeue = None  # a call would raise
    await shop.drain()
    assert await shop.states() == {State.UNHANDLED: 1}


async def _equations(shop: Shop) -> Sequence[proof.Equation]:
    return (await proof.prove(shop.inbox, shop.ledger, clock=shop.clock, chance=SeededChance())).equations
