"""Alerts about real traffic: deliveries over HTTP, real workers, the rates that they write, and a receiver that is told.

The clock runs as it does, and can be moved ahead: so that what was found is a quarter of an hour ago, and resolved.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from landfast import DeadLetter, Event, GiveUp, Transaction
from landfast.alerting.loop import AlertLoop
from landfast.alerting.plan import Plan
from landfast.alerting.webhook import WebhookSink
from landfast.app import dead_hooks
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.demo.load import Answers, send_all
from landfast.demo.sender import EVENT, Sender
from tests.alerting.desk import SECRET
from tests.alerting.receivers import HttpReceiver
from tests.operations.floor import SECRET as STRIPE
from tests.operations.floor import Floor
from tests.patience import PATIENCE_SECONDS

STRANGER = "whsec_of_somebody_else_altogether"


class ShiftedClock(SystemClock):
    """As the system's, and ahead of it by as much as the test says."""

    ahead = timedelta(0)

    def now(self) -> datetime:
        return super().now() + self.ahead

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead.total_seconds()


class Watched(Floor):
    """A shop whose alerts go to a receiver beside it."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, alerts={"enabled": False}, **settings)
        self.ledger_file = folder / "ledger.db"
        self.clock = self.inbox.clock = ShiftedClock()
        self.receiver = HttpReceiver()

    @property
    def told(self) -> set[tuple[str, str]]:
        return {(one.json["kind"], f"{one.json['alert']}/{one.json['subject']}") for one in self.receiver.got}

    def sentence(self, alert: str) -> str:
        return str(next(one.json["sentence"] for one in self.receiver.got if one.json["alert"] == alert))

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[AlertLoop]:
        async with self.receiver.listening(), self.inbox.archive() as archive:
            plan = Plan(sinks=(WebhookSink("team", self.receiver.url, SECRET),))
            loop = AlertLoop(archive, plan, self.clock, SystemChance(), is_standby=False)
            yield loop
            await loop.close()

    async def hears(self, loop: AlertLoop, kind: str, *labels: str, within: float = PATIENCE_SECONDS) -> None:
        async with asyncio.timeout(within):
            while not {(kind, label) for label in labels} <= self.told:
                await loop.look()
                await loop.courier.finish()
                await asyncio.sleep(0.05)

    async def hears_the_end(self, loop: AlertLoop, *labels: str) -> None:
        assert not {("resolved", label) for label in labels} & self.told
        self.clock.ahead += timedelta(minutes=21)
        async with asyncio.timeout(PATIENCE_SECONDS):  # who lives says so every few seconds, and has not yet
            while not all(beat.is_alive for beat in await loop._inbox.heartbeats()):
                await asyncio.sleep(0.05)
        await self.hears(loop, "resolved", *labels)


@pytest.fixture
def shop(tmp_path: Path) -> Watched:
    return Watched(tmp_path)


@pytest.mark.req("R41")
async def test_the_storm(shop: Watched) -> None:
    sender = Sender(STRIPE)
    async with shop.taking_in(), shop.watching() as loop:
        body = sender.payment(EVENT)
        answers = await send_all(shop.port, sender.deliveries(body, 11_247), answers=Answers(), connections=16)
        assert answers.statuses == {200: 11_247}
        await shop.hears(loop, "firing", "duplicate-storm/stripe")
        async with asyncio.timeout(PATIENCE_SECONDS):  # what is told first may be a second old
            while (await loop._inbox.firing())[0].figures["duplicate"] != 11_246:
                await loop.look()
        await shop.hears_the_end(loop, "duplicate-storm/stripe")
    last = shop.receiver.got[-1].json["sentence"]
    assert last.startswith("11,246 of 11,247 deliveries from stripe in 15 minutes")


@pytest.mark.req("R41")
async def test_a_wrong_secret_is_told_as_only_refusals_and_a_good_one_ends_it(shop: Watched) -> None:
    async with shop.taking_in(), shop.watching() as loop:
        await shop.send(50, secret=STRANGER)
        await shop.until(lambda found: "no-secret-matches" in found["requests to stripe"].found)
        await shop.hears(loop, "firing", "only-refusals/stripe")
        await shop.hears_the_end(loop, "only-refusals/stripe")
    assert "no-secret-matches" in shop.sentence("only-refusals")
    assert "copy the signing secret" in shop.receiver.got[0].json["fix"]


@pytest.mark.req("R41")
async def test_a_flood_without_proof_beside_good_traffic_is_told(shop: Watched) -> None:
    async with shop.taking_in(), shop.watching() as loop:
        await shop.send(2)
        await shop.send(310, secret=STRANGER)
        await shop.hears(loop, "firing", "unverified-flood/stripe")
        await shop.hears_the_end(loop, "unverified-flood/stripe")


@pytest.mark.req("R41")
async def test_a_handler_that_fails_and_its_dead_letters_are_told_and_so_is_the_users_own_code(
    shop: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_hooks, "POLL_SECONDS", 0.05)
    letters: list[DeadLetter] = []
    tries: list[str] = []

    @shop.inbox.on("stripe", "*", attempts=1)
    async def create_order(event: Event, tx: Transaction) -> None:
        raise KeyError("customer_email")

    @shop.inbox.on_dead
    async def page_somebody(letter: DeadLetter) -> None:
        letters.append(letter)

    @shop.inbox.on_dead(name="broken")
    def broken(letter: DeadLetter) -> None:
        tries.append(letter.key)
        raise GiveUp("nobody is there")

    async with shop.taking_in(), shop.working(), shop.watching() as loop:
        async with asyncio.timeout(PATIENCE_SECONDS):  # from its first start on: that is now
            while not await walks(loop, "on_dead/page_somebody", "on_dead/broken"):
                await asyncio.sleep(0.02)
        await shop.send(12)
        await shop.hears(loop, "firing", "failing-handler/create_order", "dead-letters/stripe")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(letters) < 12 or len(tries) < 12:
                await asyncio.sleep(0.02)
        await shop.hears_the_end(loop, "failing-handler/create_order", "dead-letters/stripe")
        given_up = [one for one in await loop._inbox.waiting_messages(limit=99) if one.given_up_at]
    assert {letter.key for letter in letters} == set(tries) == {f"evt_{number}" for number in range(12)}
    assert (letters[0].handler, letters[0].error, letters[0].message) == (
        "create_order",
        "KeyError",
        "'customer_email'",
    )
    assert b"payment_intent" in letters[0].body
    assert len(given_up) == 12
    assert given_up[0].error.startswith("GiveUp at ")
    assert "attempts of create_order failed in" in shop.sentence("failing-handler")
    assert "KeyError (" in shop.sentence("failing-handler")


async def walks(loop: AlertLoop, *names: str) -> bool:
    return all([await loop._inbox.walked_to(name) is not None for name in names])


@pytest.mark.req("R41")
async def test_events_that_nobody_processes_are_told_until_a_worker_comes(shop: Watched) -> None:
    @shop.inbox.on("stripe", "*", writes=False)
    async def create_order(event: Event, tx: Transaction) -> None: ...

    async with shop.taking_in(), shop.watching() as loop:
        await shop.send(3)
        shop.clock.ahead += timedelta(minutes=6)
        await shop.hears(loop, "firing", "nobody-alive/worker", "oldest-waiting/")
        async with shop.working():
            async with asyncio.timeout(PATIENCE_SECONDS):
                while await loop._inbox.untried_since() is not None:
                    await asyncio.sleep(0.02)
            await shop.hears_the_end(loop, "nobody-alive/worker", "oldest-waiting/")


@pytest.mark.req("R41")
async def test_an_open_breaker_is_told_and_its_end(shop: Watched) -> None:
    @shop.inbox.on("stripe", "*")
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders VALUES ($1)", event.key)

    async with shop.taking_in(), shop.working(), shop.watching() as loop:
        await shop.send(5)
        await shop.hears(loop, "firing", "breaker-open/handler:create_order")
        with closing(sqlite3.connect(shop.ledger_file)) as db:
            db.execute("CREATE TABLE orders (key TEXT)")
        await shop.hears_the_end(loop, "breaker-open/handler:create_order")
    assert "OperationalError at test_traffic.py" in shop.sentence("breaker-open")
