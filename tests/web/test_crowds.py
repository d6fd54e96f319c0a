"""Crowds before a real `landfast serve`: slow ones, a spike, one hot event, and clients that do not wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.demo.load import Answers, Connection, send_all
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS, Stopwatch
from tests.shops import ORDER, Shop, sqlite_shop, until
from tests.web.crowd import Good, Spike, descriptors, memory, slow_crowd

SLOW = 2_000
MEGABYTE = 1024 * 1024


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


@pytest.fixture
async def serve(shop: Shop) -> AsyncIterator[Serve]:
    """Intake alone: what handlers cost is another matter."""
    with descriptors(8_000):
        async with shop.serving("--workers", "0") as serve:
            yield serve


@pytest.mark.req("R11")
async def test_2000_slow_connections_are_all_gone_in_15_seconds_and_good_traffic_goes_on(
    shop: Shop, serve: Serve
) -> None:
    good = Good(shop, serve.port)
    before = Good(shop, serve.port, prefix="before")
    await before.run(100)
    going_on = asyncio.create_task(good.run())
    async with slow_crowd(serve.port, SLOW) as crowd:
        gone = await crowd
    good.is_over = True
    await going_on
    print(f"p99: {before.p99():.1f} ms before, {good.p99():.1f} ms among them, of {len(good.statuses)}; {gone}")
    assert gone.left == 0 and gone.longest < 15
    assert gone.statuses == {"408": SLOW}, "void: ended by something else"
    assert gone.shortest > 5, "void: they were never slow"
    assert set(good.statuses) == {200} and len(good.statuses) > 200


@pytest.mark.req("R11", "R31")
async def test_a_spike_of_50_times_the_traffic_is_refused_in_part_and_forgotten_in_10_seconds(
    shop: Shop, serve: Serve
) -> None:
    (intake,) = serve.pids("intake")
    calm = Good(shop, serve.port, prefix="calm", connections=8)
    await calm.run(25)
    at_rest = memory(intake)
    spike = Spike(serve.port)
    await spike.run(50 * calm.connections, seconds=3)
    connection = Connection(serve.port)
    with Stopwatch() as watch:
        while await connection.send(shop.sender.delivery(shop.sender.payment("evt_after"))) != 200:
            assert watch.seconds < 10, "not recovered"
    connection.close()
    after = Good(shop, serve.port, prefix="after")
    await after.run(25)
    print(f"{spike.statuses}, {len(spike.waits)} waits, {(memory(intake, peak=True) - at_rest) // MEGABYTE} MB more")
    assert set(calm.statuses) | set(after.statuses) == {200}
    assert spike.statuses.get(200) and spike.statuses.get(503), "void: nothing was too much"
    assert len(spike.waits) >= min(5, spike.statuses[503] // 4)
    assert memory(intake, peak=True) - at_rest < 200 * MEGABYTE
    assert intake in serve.processes


@pytest.mark.req("R31", "R6")
async def test_one_hot_event_among_1000_others_starves_none_of_them(shop: Shop) -> None:
    hot = shop.sender.payment("evt_hot")
    others = [shop.sender.payment(f"evt_{number}") for number in range(1_000)]
    answers = Answers()
    async with shop.serving() as serve, asyncio.TaskGroup() as senders:
        senders.create_task(send_all(serve.port, shop.sender.deliveries(hot, 3_000), answers=answers, connections=32))
        requests = [shop.sender.delivery(other) for other in others]
        senders.create_task(send_all(serve.port, requests, answers=answers, connections=8))
        await _all_are_done(shop, 1_001)
    assert answers.statuses == {200: 4_000}
    assert len(await shop.orders()) == 1_001


async def _all_are_done(shop: Shop, events: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), shop.archive() as archive:
        while (await archive.census()).states.get(State.DONE, 0) != events:
            await asyncio.sleep(0.05)


@pytest.mark.req("R3")
async def test_clients_that_hang_up_without_waiting_for_their_answer_have_their_events_stored(
    shop: Shop, serve: Serve
) -> None:
    for number in range(200):
        _, writer = await asyncio.open_connection("127.0.0.1", serve.port)
        writer.write(shop.sender.delivery(shop.sender.payment(f"evt_{number}")))
        writer.close()
        await writer.wait_closed()
    await until(lambda: shop.count(State.READY), 200)
