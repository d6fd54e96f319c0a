"""2,400 dead letters, fixed and replayed by real processes while live traffic goes on."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.demo.load import Answers, send_all
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.job import JobState
from landfast.domain.lifecycle import Signal, State
from tests.patience import PATIENCE_SECONDS, Stopwatch
from tests.recovery.scenes import settle_all
from tests.shops import Shop, postgres_shop, until

CROWD = 2400
SECONDS_AT_MOST = 60.0
"""It takes four here, and more where others are at work. One at a time, or one batch at each poll, would take minutes."""

LIVE_WAIT_AT_MOST = 3.0
"""Seconds, of a live event while the crowd is replayed: on a quiet machine it is one. On a slow one it may be longer, and
then not behind most of the crowd."""

HANDLER = """
import time
from datetime import UTC, datetime

@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)
    waited = (datetime.now(UTC) - event.received_at).total_seconds()
    await tx.execute("INSERT INTO waits (run, seconds, at) VALUES ($1, $2, $3)", event.run, waited, time.time())
"""


@pytest.fixture
async def shop(tmp_path: Path, migrated_database: str) -> Shop:
    shop = postgres_shop(tmp_path, migrated_database)
    await shop.create_orders()
    await shop._query("CREATE TABLE waits (run INTEGER, seconds DOUBLE PRECISION, at DOUBLE PRECISION)")
    shop.write(HANDLER)
    shop.take_time()
    await _make_dead(shop)
    return shop


@pytest.mark.long
@pytest.mark.req("R26")
async def test_2400_dead_letters_are_replayed_in_seconds_beside_live_traffic(shop: Shop) -> None:
    live = _Live(shop)
    async with shop.serving() as serve:
        sending = asyncio.create_task(send_all(serve.port, live, answers=live.answers, hold=live.pace, connections=4))
        await until(lambda: live.answers.total > 20, wanted=True)
        with Stopwatch() as watch:
            code, out, err = await shop.run("replay", "state:dead", "--yes", "--why", "the fix is out")
            assert (code, out, err) == (0, f"{CROWD:,} replayed\n", "")
            await until(lambda: _replayed(shop), CROWD)
            took = watch.seconds
            live.is_over = True
            await sending
            await until(lambda: shop.count(State.DONE), CROWD + live.answers.total)
    waited = await shop._query(
        "SELECT live.seconds, count(*) FROM waits live JOIN waits replayed ON replayed.run > 1"
        " AND replayed.at BETWEEN live.at - live.seconds AND live.at WHERE live.run = 1 GROUP BY live.at, live.seconds"
    )
    longest, overtaken = max(waited)
    print(
        f"{CROWD} replayed in {took:.1f} s, beside {live.answers.total} live ones, of which one waited {longest:.2f} s"
        f" and was overtaken by {overtaken}"
    )
    orders = Counter(await shop.orders())
    assert live.answers.statuses == {200: live.answers.total}
    assert set(orders.values()) == {1}
    assert len(orders) == CROWD + live.answers.total
    assert took < SECONDS_AT_MOST
    assert not [count for seconds, count in waited if seconds > LIVE_WAIT_AT_MOST and count > CROWD * 3 // 4]


@pytest.mark.req("R26")
async def test_a_worker_carries_out_a_replay_in_the_background(shop: Shop) -> None:
    code, out, _ = await shop.run("replay", "state:dead", "--yes", "--background", "--rate", "2000", "--canary", "3")
    assert code == 0
    job = out.split()[1].rstrip(":")
    async with shop.serving():
        await until(lambda: _job(shop, job), (JobState.FINISHED, CROWD), within=PATIENCE_SECONDS)
        await until(lambda: shop.count(State.DONE), CROWD, within=PATIENCE_SECONDS)
    assert Counter(Counter(await shop.orders()).values()) == {1: CROWD}


class _Live:
    """A payment every 20 ms on each connection, until it is over."""

    def __init__(self, shop: Shop) -> None:
        self.answers = Answers()
        self.is_over = False
        self._shop = shop

    def __iter__(self) -> Iterator[bytes]:
        number = 0
        while not self.is_over:
            number += 1
            yield self._shop.sender.delivery(self._shop.sender.payment(f"evt_live_{number}"))

    async def pace(self) -> None:
        await asyncio.sleep(0.02)


async def _make_dead(shop: Shop) -> None:
    """As a bug would have it that was deployed this morning."""
    async with shop.archive() as archive:
        now = archive._clock.now()
        await archive.record([_delivery(shop, f"evt_dead_{n}", now) for n in range(CROWD)])
        await settle_all(archive, Signal.BURY)


def _delivery(shop: Shop, key: str, now: object) -> Delivery:
    return Delivery.of(
        "stripe",
        Identity(key, "payment_intent.succeeded", None, None),
        received_at=now,  # type: ignore[arg-type]
        headers=b'[["content-type","application/json"]]',
        body=shop.sender.payment(key),
    )


async def _replayed(shop: Shop) -> int:
    return len([key for key in await shop.orders() if key.startswith("evt_dead_")])


async def _job(shop: Shop, name: str) -> tuple[JobState, int]:
    async with shop.archive() as archive:
        (job,) = [job for job in await archive.jobs(limit=10) if job.name == name]
        return job.state, job.replayed
