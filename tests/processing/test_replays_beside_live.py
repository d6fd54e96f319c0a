"""Replays and what comes in take turns: neither waits for the whole of the other."""

from __future__ import annotations

from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from tests.processing.shop import Shop
from tests.recovery.scenes import settle_all

CROWD = 400


async def _replay_all(shop: Shop) -> None:
    dead = await shop.inbox.find(Filter(state=State.DEAD), limit=10_000)
    await shop.inbox.replay([event.event_id for event in dead], forced=False, who="ana")


async def _drain(shop: Shop) -> None:
    worker = shop.worker()
    worker.take_turns_with_replays(is_replaying=True)
    await worker.drain()


@pytest.mark.req("R26")
@pytest.mark.parametrize("few", ["dead", "live"])
async def test_a_few_do_not_wait_behind_a_crowd_of_the_other_kind(shop: Shop, few: str) -> None:
    ran: list[str] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        ran.append("dead" if event.run > 1 else "live")

    counts = {"dead": CROWD, "live": CROWD} | {few: 20}
    await shop.deliver(*(f"dead_{number}" for number in range(counts["dead"])))
    await settle_all(shop.inbox, Signal.BURY)
    if few == "dead":  # behind all that came in
        await shop.deliver(*(f"live_{number}" for number in range(counts["live"])))
        await _replay_all(shop)
    else:  # behind all that is replayed
        await _replay_all(shop)
        await shop.deliver(*(f"live_{number}" for number in range(counts["live"])))
    await _drain(shop)
    assert len(ran) == CROWD + 20
    last = max(place for place, kind in enumerate(ran) if kind == few)
    assert last < CROWD / 2
