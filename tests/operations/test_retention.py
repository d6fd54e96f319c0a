"""A whole pass over both databases, and the proof after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from landfast.app.retention import retaining
from landfast.app.stores import Stores
from landfast.app.system_clock import SystemClock
from landfast.domain.delivery import Delivery
from landfast.domain.lifecycle import Signal, State
from landfast.domain.retention import DAY_SECONDS, Ages, Count, Retention
from landfast.ledgers.sqlite import SqliteLedger
from landfast.operations.retention import Pass, preview, run_pass
from landfast.ports.inbox import Inbox
from landfast.testing.clock import SeededChance
from landfast.testing.factory import delivery
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.test_postgres import migrated
from tests.patience import PATIENCE_SECONDS
from tests.recovery.scenes import proven, receive, settle_all
from tests.servers import Postgres

pytestmark = pytest.mark.req("R43")
DAYS = DAY_SECONDS


class Both(PostgresBench):
    ledger: SqliteLedger

    async def stores(self) -> Stores:
        return Stores(self.inbox, self.ledger, await self.inbox.identity())

    async def done(self, prefix: str, count: int) -> list[Delivery]:
        """Recorded and settled as done; their receipts are another matter."""
        now = datetime.now(UTC)
        made = [delivery(f"{prefix}-{number}", received_at=now) for number in range(count)]
        await self.inbox.record(made)
        await settle_all(self.inbox, Signal.FINISH)
        return made

    async def later(self, days: float) -> None:
        self.clock.advance(days * DAYS)
        await self.advance(days * DAYS)

    async def run(self, retention: Retention | None = None, *, seconds: float = 1e9) -> Pass | None:
        stores = await self.stores()
        given = self.inbox, self.ledger, retention or Retention()
        named = {"identity": stores.identity, "clock": self.clock, "chance": SeededChance(7), "seconds": seconds}
        return await run_pass(*given, **named)  # type: ignore[arg-type]


@pytest.fixture
async def both(postgres: Postgres, tmp_path: Path) -> AsyncIterator[Both]:
    name = postgres.new_database(template=await migrated(postgres))
    made = Both(postgres.dsn(name))
    made.clock.advance((datetime.now(UTC) - made.clock.now()).total_seconds())
    made.ledger = SqliteLedger(tmp_path / "ledger.db", clock=made.clock, chance=SeededChance(1))
    try:
        await made.inbox.open()
        await made.ledger.open()
        await made.ledger.migrate()
        await made.ledger.bind(await made.inbox.identity())
        yield made
    finally:
        await made.close()
        await made.ledger.close()
        postgres.drop_database(name)


async def test_the_proof_is_exact_before_and_after_a_pass(both: Both) -> None:
    await receive(both.inbox, both.ledger, await both.done("old", 30))
    await both.later(98)
    await receive(both.inbox, both.ledger, await both.done("young", 5))
    assert await preview(both.inbox, Retention()) == {("shop", State.DONE): Count(events=30)}
    made = await both.run()
    assert made is not None
    assert (made.total, made.is_complete, made.unproven) == (Count(events=30), True, 0)
    for full in (False, True):
        proof = await proven(both.inbox, both.ledger, full=full)
        assert (proof.holds, proof.lost) == (True, 0), [str(each) for each in proof.equations]
    (stored,) = (text for each in proof.equations if "expired" in (text := str(each)))
    assert "done 5 + dead 0" in stored and stored.endswith("expired 30")
    again = await both.run()
    assert again is not None
    assert again.total == Count()


async def test_a_loss_in_the_ledger_is_found_before_what_shows_it_is_removed(both: Both) -> None:
    made = await both.done("lossy", 10)
    await receive(both.inbox, both.ledger, made[1:])
    await both.later(98)
    found = await both.run()
    assert found is not None
    assert (found.total, found.unproven, found.held_back) == (Count(), 1, 10)
    assert (await proven(both.inbox, both.ledger)).lost == 1
    await receive(both.inbox, both.ledger, made[:1])
    found = await both.run()
    assert found is not None
    assert (found.total, found.unproven) == (Count(events=10), 0)


async def test_receipts_go_last_and_those_of_a_living_event_stay(both: Both) -> None:
    await receive(both.inbox, both.ledger, await both.done("gone", 3))
    waiting = delivery("waiting", received_at=datetime.now(UTC), hold="late")
    await both.inbox.record([waiting])
    await receive(both.inbox, both.ledger, [waiting])
    short = Retention(Ages(7 * DAYS, 7 * DAYS, 7 * DAYS, 7 * DAYS))
    await both.later(30)
    found = await both.run(short)
    assert found is not None
    assert (found.total.events, found.receipts) == (3, 0)
    await both.later(30)  # 7 + 35 days, and one for clocks that differ
    found = await both.run(short)
    assert found is not None
    assert (found.total.events, found.receipts) == (0, 3)
    assert (await proven(both.inbox, both.ledger, full=True)).holds


async def test_a_pass_that_is_cut_short_is_followed_at_once(both: Both) -> None:
    await receive(both.inbox, both.ledger, await both.done("old", 3))
    await both.later(98)
    cut = await both.run(seconds=-1)
    assert cut is not None
    assert not cut.is_complete
    assert (await both.inbox.last_pass()).ended_at is None
    whole = await both.run()
    assert whole is not None
    assert (whole.total, whole.is_complete) == (Count(events=3), True)


class StealingClock(SystemClock):
    """Somebody takes the turn while the pass rests."""

    def __init__(self, inbox: Inbox) -> None:
        self._inbox = inbox

    async def sleep(self, seconds: float) -> None:
        assert await self._inbox.take_retention_turn(b"urgent", every=0, lasting=600, is_urgent=True)


async def test_a_pass_that_loses_its_turn_says_so_and_is_gone_on_with(both: Both) -> None:
    await receive(both.inbox, both.ledger, await both.done("old", 3))
    await both.later(98)
    stores, chance = await both.stores(), SeededChance(7)
    given = both.inbox, both.ledger, Retention()
    clock = StealingClock(both.inbox)
    robbed = await run_pass(*given, identity=stores.identity, clock=clock, chance=chance, share=0.5)
    assert robbed is not None
    assert (robbed.total, robbed.is_complete) == (Count(), False)
    assert robbed.left == ("another pass has the turn, and goes on with what is left",)
    last = await both.inbox.last_pass()
    assert (last.is_running, last.ended_at) == (True, None)
    await both.inbox.end_retention_turn(b"urgent", is_complete=False)
    whole = await both.run()
    assert whole is not None
    assert (whole.total, whole.is_complete) == (Count(events=3), True)


async def test_it_is_made_by_itself(both: Both) -> None:
    await receive(both.inbox, both.ledger, await both.done("old", 3))
    await both.later(98)
    async with (
        retaining(await both.stores(), Retention(), both.clock, SeededChance(), partial(both.inbox.lay_ballast, 0)),
        asyncio.timeout(PATIENCE_SECONDS),
    ):
        while (await both.inbox.last_pass()).ended_at is None:
            await asyncio.sleep(0.01)
    assert (await both.inbox.census()).expired == {State.DONE: 3}
