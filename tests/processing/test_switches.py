"""One breaker for all workers: what one of them finds broken, all leave alone, and whoever finds it mended tells."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast.app.paused_switches import paused_switches
from landfast.app.system_clock import SystemClock
from landfast.domain.breaker import Breaker
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.event import Event
from landfast.domain.ids import HandlerName
from landfast.domain.readiness import Readiness
from landfast.domain.switch import SwitchKind
from landfast.ledgers.postgres import PostgresLedger
from landfast.processing.control.breakers import LEDGER_BREAKER
from landfast.processing.control.switches import HEARD_BREAKER_SECONDS
from landfast.processing.worker import Worker
from landfast.recovery.doctor import Level, examine_inbox
from landfast.testing.clock import SeededChance
from tests.processing.shop import STORES, Shop
from tests.processing.test_exactly_once import insert
from tests.processing.test_review import attempts_of
from tests.processing.test_worker import live, running, until
from tests.servers import Postgres

__all__ = ["live"]

BREAKER = SwitchKind.BREAKER


@asynccontextmanager
async def two_workers(shop: Shop) -> AsyncIterator[tuple[Worker, Worker]]:
    """As two machines would: nothing in common but the databases."""
    async with another(shop) as other, running(shop) as first, running(other) as second:
        yield first, second


@asynccontextmanager
async def another(shop: Shop) -> AsyncIterator[Shop]:
    other = shop.twin()
    await other.open(create=False)
    try:
        yield other
    finally:
        await other.close()


def both_stopped(workers: tuple[Worker, Worker]) -> bool:
    return all(worker.breakers.infrastructure.is_open for worker in workers)


async def was_told(shop: Shop, name: str) -> bool:
    checks = await examine_inbox(shop.inbox, now=shop.clock.now())
    return any(check.name == "breakers" and check.level is Level.FAIL and name in check.found for check in checks)


@pytest.mark.req("R20", "R31")
async def test_a_receipt_column_renamed_during_load_stops_both_workers_and_nothing_is_doubled_or_burnt(
    live: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    live.on(name="create_order", attempts=1)(insert)
    keys = [f"evt_{n:03}" for n in range(120)]
    async with two_workers(live) as workers:
        await live.deliver(*keys[:60])
        await until(live.orders, "at work")
        await rename(live, "outcome", "result_code")
        await live.deliver(*keys[60:])
        await until(lambda: both_stopped(workers), "both stopped")
        await until(lambda: was_told(live, LEDGER_BREAKER), "the doctor says so")
        written = await live.orders()
        assert len(written) < len(keys)
        await rename(live, "result_code", "outcome")
        await until(lambda: live.orders_are(keys), "both went on")
        await until(lambda: live.is_done(120), "all settled")
        await until(lambda: nothing_thrown(live), "the switch is released")
        await until(lambda: nobody_waits(live, workers), "the other one has heard of it")
    assert caplog.text.count("claims_stopped") >= 2
    assert "claims_resumed" in caplog.text  # said by whoever tried first: the other may have found nothing left to try
    for key in keys:
        assert attempts_of(await live.show(key)) == [("create_order", 1, "done")]


def nobody_waits(shop: Shop, workers: tuple[Worker, Worker]) -> bool:
    """Each of them would try with the next event."""
    return not any(worker.breakers.infrastructure.remaining(shop.clock.monotonic()) for worker in workers)


async def rename(shop: Shop, column: str, to: str) -> None:
    """In a thread: whoever holds the file now must be able to let it go."""
    statement = f"ALTER TABLE {shop.table('receipt')} RENAME COLUMN {column} TO {to}"

    async def did() -> bool:
        with suppress(sqlite3.OperationalError):  # the workers are writing
            await asyncio.to_thread(asyncio.run, shop.sql(statement))
            return True
        return False

    await until(did, "renamed")


async def nothing_thrown(shop: Shop) -> bool:
    return not await shop.inbox.switches()


@pytest.mark.req("R31")
async def test_a_column_misspelt_in_one_handler_opens_its_breaker_on_both_workers_and_no_other(live: Shop) -> None:
    column = "kee"

    @live.on("bad", attempts=1)
    async def misspelt(event: Event, tx: Any) -> None:
        await tx.execute(f"INSERT INTO orders ({column}, amount) VALUES ($1, $2)", event.key, 1)

    live.on("good", name="create_order")(insert)
    bad, good = [f"bad_{n:02}" for n in range(30)], [f"good_{n:02}" for n in range(30)]
    async with two_workers(live) as workers:
        await live.deliver(*bad, type_="bad")
        await until(lambda: all(is_open(worker, "misspelt") for worker in workers), "open on both")
        await live.deliver(*good, type_="good")
        await until(lambda: live.orders_are(good), "the others run on")
        assert not any(worker.breakers.infrastructure.is_open for worker in workers)
        assert await was_told(live, "handler:misspelt") or any(is_open(worker, "misspelt") for worker in workers)
        column = "key"
        await until(lambda: live.is_done(60), "all done by itself")
    assert await live.orders() == sorted([*bad, *good])
    for key in bad:
        assert attempts_of(await live.show(key))[-1] == ("misspelt", 1, "done")


def is_open(worker: Worker, handler: str) -> bool:
    return worker.breakers.handlers.get(HandlerName(handler), Breaker()).is_open


@dataclass
class ApartShop(Shop):
    """Its ledger is a PostgreSQL database of its own, wherever its inbox is."""

    ledger_place: str = ""

    def another_ledger(self) -> Any:
        return PostgresLedger(self.ledger_place, clock=self.clock, chance=SeededChance(9), pool=8)

    async def sql(self, query: str, *args: Any) -> Any:
        session = await asyncpg.connect(self.ledger_place)
        try:
            return await session.fetch(query, *args)
        finally:
            await session.close()


@pytest.fixture
def server() -> Iterator[Postgres]:
    server = Postgres()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture(params=STORES)
async def apart(request: pytest.FixtureRequest, tmp_path: Path, server: Postgres) -> AsyncIterator[Shop]:
    place = str(tmp_path) if request.param == "sqlite" else request.getfixturevalue("migrated_database")
    shop = ApartShop(request.param, place, clock=SystemClock(), ledger_place=server.dsn("postgres"))  # type: ignore[arg-type]
    await shop.open(create=False)
    await shop.sql("CREATE TABLE orders (key TEXT, amount INTEGER)")
    yield shop
    await shop.close()


@pytest.mark.parametrize(
    ("fault", "end"), [(Postgres.demote, Postgres.promote), (Postgres.stop, Postgres.start)], ids=["demoted", "stopped"]
)
@pytest.mark.req("R31")
async def test_a_ledger_that_is_stopped_or_demoted_stops_both_workers_and_they_recover_by_themselves(
    apart: Shop, server: Postgres, fault: Callable[[Postgres], None], end: Callable[[Postgres], None]
) -> None:
    apart.on(name="create_order", attempts=1)(insert)
    keys = [f"evt_{n:03}" for n in range(80)]
    async with two_workers(apart) as workers:
        await apart.deliver(*keys[:40])
        await until(apart.orders, "at work")
        await asyncio.to_thread(fault, server)
        await apart.deliver(*keys[40:])
        await until(lambda: both_stopped(workers), "both stopped")
        await until(lambda: was_told(apart, LEDGER_BREAKER), "the doctor says so")
        await asyncio.to_thread(end, server)
        await until(lambda: apart.orders_are(keys), "both went on")
        await until(lambda: apart.is_done(80), "all settled")
    for key in keys:
        counted = [attempt for attempt in attempts_of(await apart.show(key)) if attempt[2] != "skipped"]
        assert counted in ([("create_order", 1, "done")], []), key  # none: its COMMIT was made and not heard


async def test_a_worker_that_hears_of_an_outage_claims_nothing_until_it_may_try_for_itself(shop: Shop) -> None:
    finder, hearer = shop.worker(), shop.worker()
    finder.breakers.trip("the receipt cannot be written")
    await finder._switches.look()
    await hearer._switches.look()
    assert hearer.breakers.infrastructure.why == "the receipt cannot be written"
    with hearer.breakers.turn() as may_start:
        assert not may_start
    await shop.advance(HEARD_BREAKER_SECONDS)
    with hearer.breakers.turn() as may_start, hearer.breakers.turn() as another_may:
        assert may_start and not another_may
    hearer.breakers.ledger_answers()
    await hearer._switches.look()
    assert not await shop.inbox.switches()
    await finder._switches.look()
    with finder.breakers.turn() as may_start:
        assert may_start  # whoever succeeds ends it for all


async def test_a_switch_whose_worker_died_runs_out_and_is_probed(shop: Shop) -> None:
    await shop.inbox.throw(BREAKER, LEDGER_BREAKER, why="then it died", who="nobody", lasting=30)
    worker = shop.worker()
    await worker._switches.look()
    assert worker.breakers.infrastructure.is_open
    await shop.advance(31)
    await worker._switches.look()
    with worker.breakers.turn() as may_start:
        assert may_start
    shop.on(name="create_order")(insert)
    await shop.deliver("evt_1")
    await worker.drain()
    assert await shop.orders() == ["evt_1"]
    assert not await shop.inbox.switches()
    with worker.breakers.turn(), worker.breakers.turn() as another_may:
        assert another_may  # closed, and no probe any more


async def test_one_machine_that_has_lost_its_way_to_the_ledger_does_not_hold_the_others_up(shop: Shop) -> None:
    """Its breaker stays open; theirs opens for a moment, because their own probes succeed, and then not for a while."""
    lost, well = shop.worker(), shop.worker()
    stopped = 0.0
    for _ in range(70):
        with lost.breakers.turn() as may_start:
            if may_start:
                lost.breakers.trip("no route to host")
        await lost._switches.look()
        await well._switches.look()
        with well.breakers.turn() as may_start:
            if may_start:
                well.breakers.ledger_answers()
            else:
                stopped += 0.5
        await shop.advance(0.5)
    assert lost.breakers.infrastructure.is_open
    assert 0 < stopped < 5


async def test_a_breaker_that_could_not_be_told_is_told_when_the_inbox_is_back(shop: Shop) -> None:
    throw = shop.inbox.throw

    async def away(*_: Any, **__: Any) -> None:
        raise InboxUnavailableError("away")

    worker = shop.worker()
    shop.inbox.throw = away
    worker.breakers.trip("the ledger is away")
    await worker._switches.look()
    assert worker.breakers.untold == {LEDGER_BREAKER}
    shop.inbox.throw = throw
    await worker._switches.look()
    assert [switch.name for switch in await shop.inbox.switches()] == [LEDGER_BREAKER] and not worker.breakers.untold


async def test_a_stopped_worker_ends_while_a_breaker_is_open(live: Shop) -> None:
    async with running(live) as worker:
        worker.breakers.trip("for a while")
        await until(live.inbox.switches, "told")


async def test_whoever_asks_intake_is_told_what_is_paused_and_broken_and_that_it_takes_in_all_the_same(
    live: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    await live.inbox.throw(BREAKER, LEDGER_BREAKER, why="no such column", who="worker", lasting=30)
    await live.inbox.throw(SwitchKind.HANDLER, "create_order", why="", who="ada")
    paused = {"breakers": "1", "paused": "1"}
    async with paused_switches(live.inbox, live.clock) as notices:
        ready = Readiness(layers={"durable": "inbox"})
        await until(lambda: notices.added_to(ready) == Readiness(layers={"durable": "inbox", **paused}), "told")

        async def away() -> Any:
            raise InboxUnavailableError("away")

        monkeypatch.setattr(live.inbox, "switches", away)
        await until(lambda: notices.added_to(ready) == ready, "nothing is said that is not known")
