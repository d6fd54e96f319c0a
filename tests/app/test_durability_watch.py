"""What the promises rest on is switched off under a running Landfast: then it counts as away, and says what to do."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest

from landfast import Event, Inbox, Transaction
from landfast.app.durability_watch import SAFE_POLL_SECONDS, UNSAFE_POLL_SECONDS, DurabilityWatch, watching
from landfast.app.system_clock import SystemClock
from landfast.domain.errors import ConfigError, InboxUnavailableError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.intake.receive import Intake
from landfast.recovery.doctor import Level, examine_inbox, examine_ledger
from landfast.testing.clock import ManualClock
from landfast.testing.signing import sample, sign
from landfast.web.asgi import asgi_app
from tests.journals.jetstream_bench import Bench
from tests.journals.spools import listing
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS
from tests.servers import Postgres
from tests.shops import until

SECRET = "whsec_bGFuZGZhc3Q="
PAID = "payment_intent.succeeded"


class QuickMinutes(SystemClock):
    """The looks at durability follow each other at once; every other wait is as long as it is."""

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(0.02 if seconds in (SAFE_POLL_SECONDS, UNSAFE_POLL_SECONDS) else seconds)


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    """One of our own: what it is set to holds for everybody on it."""
    server = Postgres()
    try:
        server.create()
        yield server
    finally:
        server.destroy()


@pytest.fixture(scope="module")
def nats_server() -> Iterator[Nats]:
    server = Nats()
    try:
        server.start()
        yield server
    finally:
        server.destroy()


@pytest.fixture
def database(server: Postgres) -> Iterator[str]:
    name = server.new_database()
    yield name
    for setting in ("fsync", "full_page_writes"):
        server.execute(f"ALTER SYSTEM RESET {setting}")
    server.execute("SELECT pg_reload_conf()")
    server.drop_database(name)


def shop(store: str, ledger: str, **settings: Any) -> Inbox:
    inbox = Inbox(store=store, ledger=ledger, **settings)
    inbox.clock = QuickMinutes()
    inbox.source("stripe", provider="stripe", secrets=[SECRET])

    @inbox.on("stripe", PAID)
    async def create_order(event: Event, tx: Transaction) -> None:
        await tx.execute("INSERT INTO orders VALUES ($1)", event.key)

    return inbox


@pytest.fixture
def postgres_shop(server: Postgres, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Inbox:
    monkeypatch.chdir(tmp_path)
    server.execute("CREATE TABLE orders (key TEXT)", database=database)
    return shop(server.dsn(database), server.dsn(database))


class Client:
    def __init__(self, intake: Intake, http: httpx.AsyncClient) -> None:
        self._intake = intake
        self._http = http

    async def post(self, key: str) -> httpx.Response:
        now = SystemClock().now().timestamp()
        body = sample("stripe", PAID, id=key, day=now)
        return await self._http.post("/in/stripe", content=body, headers=sign("stripe", body, SECRET, now=now))

    async def ready(self) -> tuple[int, dict[str, Any]]:
        answer = await self._http.get("/ready")
        return answer.status_code, answer.json()

    async def is_ready(self) -> bool:
        return (await self.ready())[0] == 200


@asynccontextmanager
async def serving(inbox: Inbox) -> AsyncIterator[Client]:
    async with inbox.intake() as intake:
        transport = httpx.ASGITransport(asgi_app(intake))
        async with httpx.AsyncClient(transport=transport, base_url="http://inbox") as http:
            yield Client(intake, http)


@asynccontextmanager
async def working(inbox: Inbox) -> AsyncIterator[None]:
    async with inbox.worker() as worker:
        running = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await running


def switch(server: Postgres, setting: str, value: str) -> None:
    server.execute(f"ALTER SYSTEM SET {setting} = {value}")
    server.execute("SELECT pg_reload_conf()")


async def stored(inbox: Inbox, state: State | None = None) -> int:
    async with inbox.archive() as archive:
        return await archive.count(Filter(state=state), at_most=100)


async def doctor(inbox: Inbox) -> str:
    """The first thing that it finds."""
    try:
        async with inbox.archive() as archive, inbox.ledger() as ledger:
            checks = [*await examine_inbox(archive, now=inbox.clock.now()), *await examine_ledger(ledger)]
    except ConfigError as error:
        return str(error)
    return next(check.found for check in checks if check.level is Level.FAIL)


async def until_switched(dsn: str, setting: str, value: str) -> None:
    """Until a new session has it: the server tells all others before it lets one in."""
    connection = await asyncpg.connect(dsn)
    try:
        while await connection.fetchval("SELECT current_setting($1)", setting) != value:
            await asyncio.sleep(0.01)
    finally:
        await connection.close()


@pytest.mark.req("R1")
async def test_nobody_is_acknowledged_by_a_server_whose_fsync_was_switched_off(
    server: Postgres, database: str, postgres_shop: Inbox
) -> None:
    """Not for a minute either: the statement that records looks for itself."""
    postgres_shop.clock = SystemClock()  # no look comes in time
    async with serving(postgres_shop) as client:
        assert (await client.post("evt_1")).status_code == 200
        switch(server, "fsync", "off")
        await until_switched(server.dsn(database), "fsync", "off")
        refused = await client.post("evt_2")
        assert (refused.status_code, int(refused.headers["retry-after"]) > 0) == (503, True)
        assert await stored_by_hand(server, database) == 1
        switch(server, "fsync", "on")
        await until(lambda: _status(client, "evt_2"), 200)
        assert await stored_by_hand(server, database) == 2


async def _status(client: Client, key: str) -> int:
    return (await client.post(key)).status_code


async def stored_by_hand(server: Postgres, database: str) -> int:
    return int(server.execute("SELECT count(*) FROM landfast.identity", database=database))


@pytest.mark.req("R1")
@pytest.mark.parametrize(
    ("setting", "damage", "mend"),
    [
        ("fsync", "", ""),
        ("full_page_writes", "", ""),
        (
            "work (event_id)",
            "ALTER TABLE landfast.work DROP CONSTRAINT work_event_id_key",
            "ALTER TABLE landfast.work ADD CONSTRAINT work_event_id_key UNIQUE (event_id)",
        ),
    ],
)
async def test_an_inbox_that_became_unsafe_counts_as_away_until_it_is_mended(
    server: Postgres,
    database: str,
    postgres_shop: Inbox,
    caplog: pytest.LogCaptureFixture,
    setting: str,
    damage: str,
    mend: str,
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    async with serving(postgres_shop) as client:
        assert (await client.post("evt_1")).status_code == 200
        server.execute(damage, database=database) if damage else switch(server, setting, "off")
        await until(client.is_ready, False)
        _, layers = await client.ready()
        assert layers["inbox"].startswith("unsafe: ") and setting in layers["inbox"]
        refused = await client.post("evt_2")
        assert refused.status_code == 503 and "retry-after" in refused.headers
        assert setting in await doctor(postgres_shop)
        server.execute(mend, database=database) if mend else switch(server, setting, "on")
        await until(lambda: _status(client, "evt_2"), 200)
        assert await client.ready() == (200, {"ready": True, "inbox": "ok"})
    told = [record.message for record in caplog.records if "store=inbox" in record.message]
    assert len(told) == 2 and setting in told[0] and "store_safe" in told[1]


@pytest.mark.req("R1", "R53")
async def test_with_a_spool_senders_notice_nothing_and_nothing_goes_into_the_unsafe_inbox(
    server: Postgres, database: str, postgres_shop: Inbox, tmp_path: Path
) -> None:
    spool = tmp_path / "spool"
    with_spool = shop(server.dsn(database), server.dsn(database), spool=str(spool), spool_anywhere=True)
    async with serving(with_spool) as client:
        assert (await client.post("evt_1")).status_code == 200
        switch(server, "fsync", "off")
        await until(lambda: _layer(client, "spool"), "used")
        for number in range(2, 6):
            assert (await client.post(f"evt_{number}")).status_code == 200
        assert await stored_by_hand(server, database) == 1 and listing(spool)
        switch(server, "fsync", "on")
        await until(lambda: stored_by_hand(server, database), 5)
        await until(lambda: _layer(client, "inbox"), "ok")


async def _layer(client: Client, name: str) -> str:
    return str((await client.ready())[1][name])


@pytest.mark.req("R2")
@pytest.mark.parametrize(
    ("what", "damage", "mend"),
    [
        ("fsync", "", ""),
        (
            "landfast_ledger.receipt lost its primary key",
            "ALTER TABLE landfast_ledger.receipt DROP CONSTRAINT receipt_pkey",
            "ALTER TABLE landfast_ledger.receipt ADD PRIMARY KEY (digest, handler, run)",
        ),
        (
            "identity (event_id) is not unique",
            "ALTER TABLE landfast.identity DROP CONSTRAINT identity_pkey",
            "ALTER TABLE landfast.identity ADD PRIMARY KEY (event_id)",
        ),
        (
            "landfast_ledger.receipt is unlogged",
            "ALTER TABLE landfast_ledger.receipt SET UNLOGGED",
            "ALTER TABLE landfast_ledger.receipt SET LOGGED",
        ),
    ],
    ids=["fsync", "receipt", "identity", "unlogged"],
)
async def test_a_worker_claims_nothing_while_a_database_is_unsafe_and_burns_no_attempt(
    server: Postgres,
    database: str,
    postgres_shop: Inbox,
    caplog: pytest.LogCaptureFixture,
    what: str,
    damage: str,
    mend: str,
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    async with serving(postgres_shop) as client, working(postgres_shop):
        assert (await client.post("evt_1")).status_code == 200
        await until(lambda: _orders(server, database), ["evt_1"])
        server.execute(damage, database=database) if damage else switch(server, "fsync", "off")
        await until(lambda: "claims_stopped" in caplog.text and what in caplog.text, True)
        await _until_idle(server, database)
        await _slip_in(server, database)
        async with asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(10):  # so many looks, by both
                await asyncio.sleep(0.02)
        assert await _orders(server, database) == ["evt_1"]
        server.execute(mend, database=database) if mend else switch(server, "fsync", "on")
        await until(lambda: _orders(server, database), ["evt_1", "evt_2"])
    attempts = server.execute("SELECT attempts FROM landfast.history ORDER BY seq DESC LIMIT 1", database=database)
    assert caplog.text.count("claims_stopped") == 1 and "claims_resumed" in caplog.text
    assert bytes.fromhex(attempts.removeprefix("\\x")).count(b"outcome") <= 1


async def _orders(server: Postgres, database: str) -> list[str]:
    return server.execute("SELECT key FROM orders ORDER BY key", database=database).split()


async def _until_idle(server: Postgres, database: str) -> None:
    """A claim that was on its way when they were stopped is over."""
    active = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    idle = 0
    while idle < 3:
        await asyncio.sleep(0.02)
        idle = idle + 1 if server.execute(active, database=database) == "1" else 0  # which is who asks


async def _slip_in(server: Postgres, database: str) -> None:
    """Another event, as an intake that has not looked yet would have recorded it: a copy of the first."""
    server.execute(
        """
        WITH named AS (INSERT INTO landfast.identity SELECT sha256(event_id), received_at FROM landfast.identity),
        copied AS (
            INSERT INTO landfast.body
            SELECT received_at, sha256(event_id), source, 'evt_2', type, entity, occurred_at, headers, body
            FROM landfast.body
        )
        INSERT INTO landfast.work (event_id, received_at, source, lane, type)
        SELECT sha256(event_id), received_at, source, entity, type FROM landfast.body
        """,
        database=database,
    )


async def test_an_unsafe_ledger_stops_no_intake(
    server: Postgres, database: str, postgres_shop: Inbox, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving(postgres_shop) as client, working(postgres_shop):
        server.execute("ALTER TABLE landfast_ledger.receipt SET UNLOGGED", database=database)
        await until(lambda: "store_unsafe store=ledger" in caplog.text, True)
        await until(lambda: _has_breaker(client), True)
        assert (await client.post("evt_1")).status_code == 200
        assert "unlogged" in await doctor(postgres_shop)


async def _has_breaker(client: Client) -> bool:
    status, layers = await client.ready()
    return status == 200 and layers.get("breakers") == "1"


@pytest.mark.req("R55")
async def test_a_stream_whose_settings_are_changed_under_a_running_intake_takes_nothing_until_they_are_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nats_server: Nats
) -> None:
    monkeypatch.chdir(tmp_path)
    bench = Bench(nats_server)
    inbox = shop(str(tmp_path / "inbox.db"), str(tmp_path / "ledger.db"), journal=bench.target)
    async with serving(inbox) as client:
        assert (await client.post("evt_1")).status_code == 200
        config = (await bench.api(f"STREAM.INFO.{bench.name}"))["config"]
        assert "error" not in await bench.api(f"STREAM.UPDATE.{bench.name}", config | {"max_age": 3600 * 10**9})
        await until(client.is_ready, False)
        assert "max_age must be 0" in await _layer(client, "journal")
        assert (await client.post("evt_2")).status_code == 503
        assert await bench.messages() == 1
        assert "error" not in await bench.api(f"STREAM.UPDATE.{bench.name}", config)
        await until(lambda: _status(client, "evt_2"), 200)
        assert await _layer(client, "journal") == "ok"
    await bench.close()


@pytest.mark.parametrize("which", ["inbox.db", "ledger.db"])
async def test_a_sqlite_file_that_was_replaced_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, which: str
) -> None:
    monkeypatch.chdir(tmp_path)
    inbox = shop(str(tmp_path / "inbox.db"), str(tmp_path / "ledger.db"))
    async with serving(inbox) as client, working(inbox):
        with closing(sqlite3.connect(tmp_path / "ledger.db")) as connection:
            connection.execute("CREATE TABLE orders (key TEXT)")
        assert (await client.post("evt_1")).status_code == 200
        await until(lambda: stored(inbox, State.DONE), 1)
        (tmp_path / which).rename(tmp_path / "moved")
        await until(lambda: "moved or replaced" in caplog.text, True)
        assert (await client.post("evt_2")).status_code == (503 if which == "inbox.db" else 200)
        (tmp_path / "moved").rename(tmp_path / which)
        await until(lambda: _status(client, "evt_2"), 200)
        await until(lambda: stored(inbox, State.DONE), 2)


async def test_a_look_that_fails_changes_nothing_and_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Any] = [["fsync is off"], InboxUnavailableError("away"), ValueError("odd"), ValueError("odd"), []]

    async def hazards() -> list[str]:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return list(answer)

    caplog.set_level(logging.INFO, "landfast")
    watch = DurabilityWatch("inbox", hazards, ManualClock())
    for _ in range(4):
        await watch.look()
        assert watch.unsafe == "fsync is off"
    await watch.look()
    assert not watch.unsafe
    assert [record.message.partition(",")[0] for record in caplog.records if "inbox" in record.message] == [
        'store_unsafe store=inbox reason="fsync is off"',
        "store_not_checked store=inbox error=odd",
        "store_safe store=inbox",
    ]


async def test_it_is_looked_at_every_minute_and_more_often_while_it_is_unsafe() -> None:
    found: list[str] = []
    times: list[float] = []
    clock = ManualClock()

    async def hazards() -> list[str]:
        times.append(clock.monotonic())
        return found

    async with watching(DurabilityWatch("inbox", hazards, clock)) as (watch,):
        await until(lambda: len(times) >= 3, True)
        found.append("fsync is off")
        await until(lambda: bool(watch.unsafe), True)
        seen = len(times)
        await until(lambda: len(times) >= seen + 2, True)
    assert times[:3] == [0.0, SAFE_POLL_SECONDS, 2 * SAFE_POLL_SECONDS]
    assert times[seen] - times[seen - 1] == UNSAFE_POLL_SECONDS
