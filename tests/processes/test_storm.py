"""The storm and the massacre, against a real `landfast serve` on both stores."""

from __future__ import annotations

import asyncio
import hashlib
import os
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.demo.load import Answers, send_all
from landfast.demo.play import Checkpoints
from landfast.demo.servers import Serve
from landfast.domain.ids import event_id
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.shops import DOOR, ORDER, Shop, postgres_shop, sqlite_shop

pytestmark = pytest.mark.long
KILLS = 3
ACKNOWLEDGED_BEFORE_A_KILL = 80
"""Enough for a worker to have claimed some. Each of those runs alone afterwards, and that is what takes the time."""


@pytest.fixture(params=["sqlite", "postgres"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "sqlite":
        shop = sqlite_shop(tmp_path)
    else:
        shop = postgres_shop(tmp_path, request.getfixturevalue("migrated_database"))
    await shop.create_orders()
    return shop


@pytest.mark.req("R50", "R6", "R24")
async def test_11247_deliveries_of_one_event_with_the_worker_killed_three_times_make_one_order(shop: Shop) -> None:
    shop.write(ORDER, DOOR)
    body = shop.sender.payment()
    answers = Answers()
    async with shop.serving("--intakes", "2") as serve, asyncio.TaskGroup() as storm:
        checkpoints = Checkpoints(11_247)
        deliveries = shop.sender.deliveries(body, 11_247)
        sending = storm.create_task(send_all(serve.port, deliveries, answers=answers, hold=checkpoints.pass_one))
        for kills in range(1, 4):
            await checkpoints.reached.wait()
            await _kill_inside(shop, serve)
            checkpoints.move_on(kills)
        (shop.folder / "open").touch()
        await sending
        await _all_are_done(shop, 1)

    _assert_no_accident(shop)
    assert answers.statuses == {200: 11_247}
    assert await shop.orders() == ["evt_1NqQPbL7xK9"]


@pytest.mark.req("R24", "R3")
async def test_kill_9_of_everything_under_load_loses_nothing_and_doubles_nothing(shop: Shop) -> None:
    shop.write(ORDER)
    shop.settings["LANDFAST_LEASE"] = "1"
    bodies: dict[str, bytes] = {}
    acknowledged: set[str] = set()
    for number in range(KILLS + 1):
        is_last = number == KILLS
        async with shop.serving() as serve:
            load = Load(shop, bodies, acknowledged, is_endless=not is_last)
            sending = asyncio.create_task(load.send(serve.port))
            if not is_last:
                await load.is_under_way(sending)
                load.is_endless = False  # from here on nobody sends another; sixteen are waiting for their answers
                await serve.kill()
            await sending
            if is_last:
                await _all_are_done(shop, len(bodies))

    _assert_no_accident(shop)
    assert acknowledged == bodies.keys()
    assert Counter(await shop.orders()) == Counter(bodies.keys())
    async with shop.archive() as archive:
        for key in acknowledged:
            record = await archive.show(event_id("stripe", key))
            assert record is not None, "acknowledged and lost"
            assert record.summary.state is State.DONE
            assert hashlib.sha256(record.body).digest() == hashlib.sha256(bodies[key]).digest()


class Load:
    """Whatever nobody has acknowledged yet, and then new events for as long as it is endless."""

    def __init__(self, shop: Shop, bodies: dict[str, bytes], acknowledged: set[str], *, is_endless: bool) -> None:
        self.is_endless = is_endless
        self._shop = shop
        self._bodies = bodies
        self._acknowledged = acknowledged
        self._keys: dict[bytes, str] = {}
        self._wanted = len(acknowledged) + ACKNOWLEDGED_BEFORE_A_KILL
        self._has_enough = asyncio.Event()

    async def send(self, port: int) -> None:
        await send_all(port, self._requests(), answers=Answers(), heard=self._heard, connections=16)

    async def is_under_way(self, sending: asyncio.Task[None]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await self._has_enough.wait()
        assert not sending.done()

    def _requests(self) -> Iterator[bytes]:
        for key in [key for key in self._bodies if key not in self._acknowledged]:
            yield self._request(key)
        while self.is_endless:
            key = f"evt_{len(self._bodies)}"
            self._bodies[key] = self._shop.sender.payment(key)
            yield self._request(key)

    def _request(self, key: str) -> bytes:
        request = self._shop.sender.delivery(self._bodies[key])
        self._keys[request] = key
        return request

    def _heard(self, request: bytes, status: int | None) -> None:
        if status == 200:
            self._acknowledged.add(self._keys[request])
        if len(self._acknowledged) >= self._wanted:
            self._has_enough.set()


async def _kill_inside(shop: Shop, serve: Serve) -> None:
    """Kill a process that has written its order and not committed it: a worker, or that of the suspects."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (inside := [pid for pid in serve.processes if (shop.folder / f"inside-{pid}").exists()]):
            await asyncio.sleep(0.01)
        os.kill(inside[0], signal.SIGKILL)
        await serve.until(lambda: inside[0] not in serve.processes)


async def _all_are_done(shop: Shop, events: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), shop.archive() as archive:
        while (census := await archive.census()).states.get(State.DONE, 0) != events:
            assert census.states.get(State.DEAD, 0) == 0, "no event may die of a killed worker"
            await asyncio.sleep(0.05)


def _assert_no_accident(shop: Shop) -> None:
    """A worker that dies of a bug is replaced, and everything still ends well; so look for it."""
    log = (shop.folder / "serve.log").read_text()
    assert "Traceback" not in log, log[log.index("Traceback") :][:8000]
