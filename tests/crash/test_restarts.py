"""PostgreSQL dies again and again under an intake and a worker: nothing lost, doubled or stuck."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from landfast.app.system_clock import SystemClock
from landfast.caches.local import LocalSeen
from landfast.domain.delivery import Head, Headers
from landfast.domain.event import Event
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.intake.counting.tally import Tally
from landfast.intake.receive import Intake
from landfast.intake.record import GroupCommit
from landfast.intake.source import Source
from landfast.ports.provider import Secret
from landfast.providers import provider
from landfast.testing.signing import sample, sign
from landfast.wakeups.local import LocalWakeup
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop
from tests.servers import Postgres

RESTARTS = 4
BETWEEN = 60
"""Events acknowledged between two of them."""
SENDERS = 4
WITHIN = PATIENCE_SECONDS
SECRET = "whsec_restarts"


@pytest.fixture
def own_postgres() -> Iterator[Postgres]:
    """Not the one that other tests use."""
    server = Postgres()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@asynccontextmanager
async def taking_in(shop: Shop) -> AsyncIterator[Intake]:
    profile = provider("stripe")
    seen = LocalSeen()
    group = GroupCommit(shop.inbox, seen=seen, wakeup=LocalWakeup())
    tally = Tally(shop.inbox, boot=BootId(b"restarts"), clock=shop.clock, sources=["stripe"])
    source = Source("stripe", profile, (Secret("first", profile.decode_secret(SECRET)),))
    yield Intake([source], recorder=group, seen=seen, tally=tally, clock=shop.clock)
    await group.close()
    await tally.close()


class Senders:
    """They send each event until they are told 2xx, and then the next."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self.acknowledged: dict[str, str] = {}
        self.refused = 0
        self.stop = asyncio.Event()

    async def send(self, number: int) -> None:
        count = 0
        while not self.stop.is_set():
            key = f"evt_{number}_{count:05}"
            body = sample("stripe", "order.created", id=key)
            if await self._deliver(body) == 200:
                self.acknowledged[key] = hashlib.sha256(body).hexdigest()
                count += 1
            else:
                self.refused += 1
            await asyncio.sleep(0.005)

    async def _deliver(self, body: bytes) -> int:
        now = SystemClock().now().timestamp()
        pairs = Headers(
            (name.encode(), value.encode()) for name, value in sign("stripe", body, SECRET, now=now).items()
        )
        admitted = self._intake.admit(Head("POST", "/in/stripe", "", pairs, len(body)))
        return (await self._intake.respond(admitted, body)).status


@pytest.mark.req("R24")
async def test_nothing_is_lost_doubled_or_stuck_while_postgresql_is_restarted_again_and_again(
    own_postgres: Postgres,
) -> None:
    shop = Shop("postgres", own_postgres.dsn(own_postgres.new_database()), clock=SystemClock())  # type: ignore[arg-type]
    await shop.open()

    @shop.on()
    async def create_order(event: Event, tx: Any) -> None:
        await tx.execute("INSERT INTO orders (key, amount) VALUES ($1, 1)", event.key)

    worker = shop.worker(hands=2, lease=3.0)
    async with asyncio.timeout(WITHIN), taking_in(shop) as intake, asyncio.TaskGroup() as tasks:
        tasks.create_task(worker.run())
        senders = Senders(intake)
        for number in range(SENDERS):
            tasks.create_task(senders.send(number))
        for _ in range(RESTARTS):
            await until(senders, len(senders.acknowledged) + BETWEEN)
            await asyncio.to_thread(own_postgres.restart)
        await until(senders, len(senders.acknowledged) + BETWEEN)
        senders.stop.set()
        while sum((await shop.states()).values()) != (await shop.states()).get(State.DONE):
            await asyncio.sleep(0.02)
        worker.stop()
    assert senders.refused, "void: no restart was felt by a sender"
    stored = {key: (await shop.show(key)).body for key in senders.acknowledged}
    assert {key: hashlib.sha256(body).hexdigest() for key, body in stored.items()} == senders.acknowledged
    # A commit whose answer was lost may have stored one more than was acknowledged; it is processed all the same.
    orders = await shop.orders()
    assert len(orders) == len(set(orders)) == (await shop.states())[State.DONE]
    assert set(senders.acknowledged) <= set(orders)
    await shop.close()


async def until(senders: Senders, count: int) -> None:
    while len(senders.acknowledged) < count:
        await asyncio.sleep(0.02)
