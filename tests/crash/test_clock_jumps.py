"""Clocks jump, ours and the database's, in the middle of a handler: time decides when, never whether or how often."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from landfast.domain.verdict import RetryLater
from landfast.processing.fairness.pace import Pace
from landfast.testing.clock import ManualClock
from tests.processing.shop import STORES, Shop

DAY, HOUR = 86_400.0, 3_600.0
KEYS = [f"evt_{number}" for number in range(8)]


class JumpingClock(ManualClock):
    """The wall clock can be set; what counts seconds goes on as before."""

    def jump(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


async def jump(shop: Shop, whose: str, seconds: float) -> None:
    """The application's clock, or the store's: on SQLite they are the same."""
    if whose == "application" or shop.store == "sqlite":
        assert isinstance(shop.clock, JumpingClock)
        shop.clock.jump(seconds)
    else:
        for name in ("landfast.clock", "landfast_ledger.clock"):
            await shop.sql(
                f"CREATE OR REPLACE FUNCTION {name}() RETURNS timestamptz LANGUAGE sql STABLE "
                f"AS $$ SELECT clock_timestamp() + interval '{shop.clock.monotonic() + seconds} seconds' $$"
            )


@pytest.mark.req("R24")
@pytest.mark.parametrize("seconds", [DAY, -HOUR], ids=["a day forward", "an hour back"])
@pytest.mark.parametrize("whose", ["application", "store"])
@pytest.mark.parametrize("store", STORES)
async def test_a_clock_that_jumps_in_a_handler_loses_and_doubles_nothing(
    store: str, whose: str, seconds: float, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    place = str(tmp_path) if store == "sqlite" else request.getfixturevalue("database")
    shop = Shop(store, place, clock=JumpingClock())
    await shop.open()
    jumped: list[str] = []
    taken_over: list[int] = []

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        if not jumped:
            jumped.append(event.key)
            await jump(shop, whose, seconds)
            # By the new time our lease may be over: another worker looks for what it can take.
            taken_over.append(int(await shop.inbox.has_suspects()))
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", event.key)
        if event.key == "evt_5" and event.attempt == 1:
            raise RetryLater("in a while", after=120)

    await shop.deliver(*KEYS)
    await shop.drain()
    await shop.deliver(*KEYS)  # the sender's clock did not jump: it comes again
    await shop.settle_down()
    assert jumped and await shop.orders() == KEYS
    assert await shop.states() == {State.DONE: len(KEYS)}
    if seconds > 0 and (store == "sqlite" or whose == "store"):
        assert taken_over == [1], "void: the lease did not end"
    await shop.close()


@pytest.mark.parametrize("seconds", [DAY, -HOUR], ids=["a day forward", "an hour back"])
@pytest.mark.parametrize("store", STORES)
async def test_a_worker_whose_lease_a_jump_ended_meets_its_successor_at_the_receipt(
    store: str, seconds: float, request: pytest.FixtureRequest, tmp_path: Any
) -> None:
    place = str(tmp_path) if store == "sqlite" else request.getfixturevalue("database")
    shop = Shop(store, place, clock=JumpingClock())
    await shop.open()

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", event.key)

    await shop.deliver(*KEYS)
    first = shop.worker()
    claims = await shop.inbox.claim(token=first._token(), lease=30, limit=len(KEYS))
    await jump(shop, "store", seconds)
    await shop.drain()  # the successor, which by its time may take everything, or must wait for an hour and more
    settlements = await first._execution.execute(claims, Pace())
    await shop.inbox.settle(settlements)
    await shop.settle_down()
    assert await shop.orders() == KEYS and await shop.states() == {State.DONE: len(KEYS)}
    await shop.close()
