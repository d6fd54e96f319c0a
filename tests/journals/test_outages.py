"""Real `landfast serve` processes with a spool, and a PostgreSQL that goes away in every way it can."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path

import asyncpg
import pytest

from landfast.demo.load import Connection
from landfast.intake.durability.outage import AWAY_AFTER_SECONDS
from tests.journals.outages import SlowProxy, descriptors, drained, load, problems, with_spool
from tests.patience import PATIENCE_SECONDS
from tests.servers import Postgres
from tests.shops import ORDER, Shop, postgres_shop, until

pytestmark = [pytest.mark.req("R9", "R53")]

SECONDS = float(os.environ.get("LANDFAST_OUTAGE_SECONDS", "5"))
PATIENCE = AWAY_AFTER_SECONDS + 10.0
"""Seconds within which a sender must have its answer: the budget, and what a busy machine adds."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """One of our own: it is stopped, frozen and filled up."""
    server = Postgres()
    try:
        server.create()
        server.execute("ALTER SYSTEM SET max_connections = 50")
        server.restart()
        yield server
    finally:
        server.destroy()


@pytest.fixture
async def shop(server: Postgres, tmp_path: Path) -> AsyncIterator[Shop]:
    name = server.new_database()
    shop = postgres_shop(tmp_path, server.dsn(name))
    shop.write(ORDER)
    shop.take_time()
    await shop.create_orders()
    yield shop
    server.drop_database(name)


def waiting(spool: Path) -> int:
    return sum(path.suffix == ".seg" for path in spool.iterdir())


async def test_postgresql_is_stopped_under_load_and_started_again(server: Postgres, shop: Shop) -> None:
    spool = with_spool(shop)
    async with shop.serving("--intakes", "2") as serve, load(shop, serve) as senders:
        async with senders.running():
            await senders.more(100)
            before = {pid: len(descriptors(pid)) for pid in serve.pids("intake")}
            await asyncio.to_thread(server.stop)
            try:
                answered, over = len(senders.acknowledged), senders.watch.seconds + SECONDS
                await until(lambda: senders.watch.seconds >= over, True)
                await until(lambda: len(senders.acknowledged) - answered > SECONDS * 10, True)
                await until(lambda: waiting(spool) > 0, True)
                during = len(senders.acknowledged) - answered
            finally:
                await asyncio.to_thread(server.start)
            await senders.more(100)
        await drained(shop, spool)
        after = {pid: descriptors(pid) for pid in serve.pids("intake")}
        assert await serve.stop() == 0

    assert set(senders.statuses) == {200}, senders.statuses
    print(f"{len(senders.acknowledged)} acknowledged, {during} of them in {SECONDS:g} s of outage, "
          f"the slowest within {senders.slowest:.1f} s")  # fmt: skip
    assert await problems(shop, senders.history) == []
    for pid, names in after.items():
        assert not [name for name in names if str(spool) in name], "a segment is still open"
        assert len(names) <= before[pid] + 8, "descriptors leak"  # the pools open connections as they need them
    told = re.findall(r"intake +(\d+) +(store_\w+)", (shop.folder / "serve.log").read_text())
    assert told
    for pid in dict(told):
        lines = [line for each, line in told if each == pid]
        assert lines[0] == "store_unavailable"
        assert all(line != after for line, after in pairwise(lines)), "one line for each outage and intake"


async def test_a_supervisor_stops_in_order_during_an_outage_and_the_next_start_drains(
    server: Postgres, shop: Shop
) -> None:
    spool = with_spool(shop)
    async with shop.serving() as serve, load(shop, serve) as senders:
        async with senders.running():
            await senders.more(30)
            await asyncio.to_thread(server.stop)
            await senders.more(60)
        assert await serve.stop() == 0
        left = waiting(spool)
        await asyncio.to_thread(server.start)
    assert left
    async with shop.serving() as serve:
        await drained(shop, spool)
        assert await serve.stop() == 0
    assert set(senders.statuses) == {200}
    # The boot that could not say its last word is marked, so what it counted may be short, and nothing else.
    found = await problems(shop, senders.history)
    assert [problem for problem in found if not problem.startswith("I10")] == []


async def test_postgresql_is_out_of_connections(server: Postgres, shop: Shop) -> None:
    spool = with_spool(shop)
    taken: list[asyncpg.Connection[asyncpg.Record]] = []
    async with shop.serving() as serve, load(shop, serve) as senders:
        async with senders.running():
            await senders.more(30)
            try:
                await _take_all(server, shop, taken)
                await until(lambda: waiting(spool) > 0, True)
                await senders.more(60)
            finally:
                for each in taken:
                    each.terminate()
            await senders.more(60)
        await drained(shop, spool)
        assert await serve.stop() == 0
    assert set(senders.statuses) == {200} and senders.slowest < PATIENCE
    assert await problems(shop, senders.history) == []


async def test_the_identity_table_is_locked_by_another_session(server: Postgres, shop: Shop) -> None:
    spool = with_spool(shop)
    async with shop.serving() as serve, load(shop, serve) as senders:
        async with senders.running():
            await senders.more(30)
            session = await asyncpg.connect(shop.store)
            try:
                async with session.transaction():
                    await session.execute("LOCK TABLE landfast.identity IN ACCESS EXCLUSIVE MODE")
                    await until(lambda: waiting(spool) > 0, True)
                    await senders.more(60)
            finally:
                await session.close()
            await senders.more(60)
        await drained(shop, spool)
        assert await serve.stop() == 0
    assert set(senders.statuses) == {200} and senders.slowest < PATIENCE
    assert await problems(shop, senders.history) == []


async def test_postgresql_answers_too_slowly(server: Postgres, shop: Shop) -> None:
    spool = with_spool(shop)
    dsn = shop.store
    proxy = SlowProxy(server.port)
    async with proxy.running():
        shop.store = dsn.replace(f":{server.port}/", f":{proxy.port}/")  # the ledger is as fast as ever
        async with shop.serving() as serve, load(shop, serve) as senders:
            async with senders.running():
                await senders.more(30)
                proxy.delay = AWAY_AFTER_SECONDS * 1.5
                await until(lambda: waiting(spool) > 0, True)
                await senders.more(60)
                proxy.delay = 0.0
                await senders.more(60)
            await drained(shop, spool)
            assert await serve.stop() == 0
    assert proxy.delayed
    shop.store = dsn
    assert set(senders.statuses) == {200} and senders.slowest < PATIENCE
    assert await problems(shop, senders.history) == []


async def test_where_the_spool_is_full_too_the_answer_is_503_and_nothing_is_lost(server: Postgres, shop: Shop) -> None:
    spool = with_spool(shop, LANDFAST_SPOOL_LIMIT=str(2**20))
    async with shop.serving() as serve, load(shop, serve) as senders:
        connection = Connection(serve.port)
        await senders.send(connection, "evt_first")
        await asyncio.to_thread(server.stop)
        try:
            senders.padding = 20_000
            for number in range(100):
                if await senders.send(connection, f"evt_{number}") == 503:
                    break
            assert senders.statuses[503] == 1, senders.statuses
        finally:
            await asyncio.to_thread(server.start)
        await drained(shop, spool)
        assert await senders.send(connection, "evt_last") == 200
        connection.close()
        await drained(shop, spool)
        assert await serve.stop() == 0
    assert senders.statuses[200] > 30
    assert await problems(shop, senders.history) == []


async def test_an_intake_that_starts_while_postgresql_is_down_acknowledges_and_drains_when_it_comes(
    server: Postgres, shop: Shop
) -> None:
    """Not even the tables are there: they are made when it answers."""
    spool = with_spool(shop)
    await asyncio.to_thread(server.stop)
    try:
        async with shop.serving("--role", "intake") as serve, load(shop, serve) as senders:
            async with senders.running():
                await senders.more(60)
                assert waiting(spool)
                await asyncio.to_thread(server.start)
                await until(lambda: waiting(spool), 0)
                await senders.more(20)
            async with shop.serving("--role", "worker"):
                await drained(shop, spool)
            assert await serve.stop() == 0
    finally:
        await asyncio.to_thread(server.stop)  # safe twice, and the next test finds it running
        await asyncio.to_thread(server.start)
    assert set(senders.statuses) == {200}
    assert "started_without_inbox" in (shop.folder / "serve.log").read_text()
    assert await problems(shop, senders.history) == []


async def _take_all(server: Postgres, shop: Shop, taken: list[asyncpg.Connection[asyncpg.Record]]) -> None:
    """Every slot of the server, those of the shop's intake among them."""
    dsn = server.dsn("postgres")
    first = await asyncpg.connect(dsn)
    taken.append(first)
    database = shop.store.rpartition("/")[2]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            try:
                taken.append(await asyncpg.connect(dsn))
            except asyncpg.TooManyConnectionsError:
                query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1"
                if not await first.fetch(query, database):
                    return
