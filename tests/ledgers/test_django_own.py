"""What only the ledgers on Django have: hooks, deadlines in a thread, dead connections, other databases."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connections, transaction

from landfast.domain.errors import (
    CommitUnknownError,
    ConfigError,
    HandlerEndedTransactionError,
    LedgerUnavailableError,
)
from landfast.domain.fault import Fault
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers import limits
from landfast.ledgers.django import databases, fence
from landfast.ledgers.django.ledger import DjangoPostgresLedger
from landfast.processing.handlers.registry import Registry
from landfast.processing.handlers.stage import Stage
from landfast.processing.handlers.transaction import BlockingTransaction, Transaction
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import key, orders, receipt_count
from landfast.testing.factory import DAWN
from tests.django_shop import project
from tests.ledgers.django_desks import (
    DjangoPostgresDesk,
    DjangoSqliteDesk,
    django_postgres_desk,  # noqa: F401 - a fixture
    django_sqlite_desk,  # noqa: F401 - a fixture
)
from tests.ledgers.loop_time import LoopTime
from tests.ledgers.test_django_abuse import DjangoDesk, Shop, attempt, sound
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Fate, Proxy

PATIENCE = PATIENCE_SECONDS


@pytest.fixture(params=["django_postgres_desk", "django_sqlite_desk"])
def desk(request: pytest.FixtureRequest) -> DjangoDesk:
    found: DjangoDesk = request.getfixturevalue(request.param)
    return found


async def test_on_commit_runs_once_after_the_commit_and_outside_of_the_transaction(desk: DjangoDesk) -> None:
    shop, seen = Shop(desk.alias), []

    def hook() -> None:
        seen.append((shop.connection.in_atomic_block, shop.orders.count()))

    def handler() -> None:
        transaction.on_commit(hook, using=desk.alias)
        shop.order("pay_1")
        assert seen == []

    await attempt(desk, handler)
    assert seen == [(False, 1)]
    await attempt(desk, handler)
    assert seen == [(False, 1)]
    await sound(desk)


async def test_on_commit_of_an_attempt_that_fails_never_runs(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    seen: list[int] = []

    def handler() -> None:
        transaction.on_commit(lambda: seen.append(1), using=desk.alias)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await attempt(desk, handler)
    await attempt(desk, lambda: shop.order("pay_1"))
    assert seen == []


async def test_a_hook_that_raises_changes_nothing_and_its_neighbours_run(
    desk: DjangoDesk, caplog: pytest.LogCaptureFixture
) -> None:
    shop = Shop(desk.alias)
    seen: list[int] = []

    def bad() -> None:
        raise SystemExit if len(seen) > 1 else ValueError("bad hook")

    def handler() -> None:
        shop.order("pay_1")
        for hook in (bad, lambda: seen.append(1), lambda: seen.append(2), bad):
            transaction.on_commit(hook, using=desk.alias)

    with caplog.at_level(logging.ERROR, "django.db.backends.base"):
        await attempt(desk, handler)
    assert seen == [1, 2]
    assert "bad hook" in caplog.text
    assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)
    await sound(desk)


async def test_a_handler_with_tx_and_the_orm_has_one_transaction(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await tx.reserve([key()]) == [None]
    scope, lane = await tx.scope(), tx.lane
    assert lane is not None
    given = BlockingTransaction(scope, Stage(Registry(), key(), {}, lambda: DAWN), is_in_lane=True)

    def handler() -> None:
        shop.order("pay_1")
        assert given.fetchval("SELECT payment FROM shop_order WHERE payment = $1", "pay_1") == "pay_1"
        with suppress(ZeroDivisionError), given.savepoint():
            shop.order("pay_2")
            _ = 1 / 0
        with suppress(Exception), given.savepoint():
            shop.order("pay_1")
        assert given.execute("INSERT INTO shop_order VALUES ($1)", "pay%3") == "INSERT 0 1"
        assert [row["payment"] for row in given.fetch("SELECT payment FROM shop_order ORDER BY 1")] == [
            "pay%3",
            "pay_1",
        ]

    _, error = await lane.start(handler, is_async=False).ended
    assert error is None
    assert scope.used
    await tx.commit(results=(), effects=())
    assert await orders(desk) == ["pay%3", "pay_1"]


async def test_an_async_handler_awaits_tx(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await tx.reserve([key()]) == [None]
    scope, lane = await tx.scope(), tx.lane
    assert lane is not None
    given = Transaction(scope, Stage(Registry(), key(), {}, lambda: DAWN))

    async def handler() -> None:
        await shop.orders.acreate(payment="pay_1")
        await given.execute("INSERT INTO shop_order VALUES ($1)", "pay_2")
        async with given.savepoint():
            await given.execute("INSERT INTO shop_order VALUES ($1)", "pay_3")
        assert await given.fetchval("SELECT count(*) FROM shop_order") == 3

    _, error = await lane.start(handler, is_async=True).ended
    assert error is None
    await tx.commit(results=(), effects=())
    assert await orders(desk) == ["pay_1", "pay_2", "pay_3"]


async def test_a_handler_that_never_touches_the_connection_is_known_for_it(desk: DjangoDesk) -> None:
    shop = Shop(desk.alias)
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    lane = tx.lane
    assert lane is not None
    await tx.reserve([key()])
    for handler, used in ((lambda: None, False), (lambda: shop.order("pay_1"), True), (lambda: None, False)):
        scope = await tx.scope()
        await lane.start(handler, is_async=False).ended
        assert scope.used is used
    await tx.rollback()


async def test_writes_to_another_database_are_counted_and_told_once(
    desk: DjangoDesk, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with project.database(project.for_sqlite(tmp_path / "other.db")) as other:
        elsewhere = Shop(other)

        def prepare() -> None:
            elsewhere.send("CREATE TABLE shop_order (payment TEXT PRIMARY KEY)")
            elsewhere.connection.close()

        def handler() -> None:
            Shop(desk.alias).order("pay_1")
            elsewhere.orders.count()
            elsewhere.order("pay_1")
            elsewhere.order("pay_2")

        await asyncio.to_thread(prepare)
        await attempt(desk, handler)
        await attempt(desk, lambda: elsewhere.order("pay_3"), "evt_2")
        lanes: Any = desk.ledger._lanes  # type: ignore[union-attr]
        assert [lane.connection.fence.elsewhere for lane in lanes._all] == [1]
        assert caplog.text.count("wrote_elsewhere") == 1
        for lane in lanes._all:
            await lane.here(lambda: connections[other].close())  # noqa: PLW0108 - in that thread it is another
    assert other in fence._TOLD


async def test_a_deadline_in_sql_frees_the_receipt_at_once(django_postgres_desk: DjangoPostgresDesk) -> None:  # noqa: F811
    desk = django_postgres_desk
    shop, ended = Shop(desk.alias), threading.Event()

    def handler() -> None:
        shop.order("pay_1")
        try:
            shop.send("SELECT pg_sleep(600)")
        finally:
            ended.set()

    await overrun(desk, handler, until="SELECT count(*) = 1 FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)'")
    assert await asyncio.to_thread(ended.wait, PATIENCE)
    await free(desk)
    await attempt(desk, lambda: shop.order("pay_2"))
    assert await orders(desk) == ["pay_2"]
    await sound(desk)


async def test_a_deadline_in_sql_interrupts_sqlite(django_sqlite_desk: DjangoSqliteDesk) -> None:  # noqa: F811
    desk = django_sqlite_desk
    shop, started, ended = Shop(desk.alias), threading.Event(), threading.Event()

    def handler() -> None:
        shop.order("pay_1")
        started.set()
        try:
            shop.send(
                "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1e12) SELECT max(x) FROM c"
            )
        finally:
            ended.set()

    tx = await begun(desk)
    running = tx.lane.start(handler, is_async=False)
    await asyncio.to_thread(started.wait, PATIENCE)
    while not ended.is_set():  # an interrupt that comes a moment before the statement begins is lost
        desk.ledger._lanes._all.copy().pop().connection.hang_up()  # type: ignore[attr-defined]
        await asyncio.sleep(0.01)
    await tx.rollback()
    _, error = await running.ended
    assert "interrupted" in str(error)
    await attempt(desk, lambda: shop.order("pay_2"))
    assert await orders(desk) == ["pay_2"]


async def test_a_deadline_in_python_takes_the_transaction_away(desk: DjangoDesk) -> None:
    """The rollback does not wait for the handler, and what it writes afterwards is refused."""
    shop, inside, goes_on = Shop(desk.alias), threading.Event(), threading.Event()

    def handler() -> None:
        shop.order("pay_1")
        inside.set()
        goes_on.wait(PATIENCE)
        shop.order("pay_2")

    tx = await begun(desk)
    running = tx.lane.start(handler, is_async=False)
    await asyncio.to_thread(inside.wait, PATIENCE)
    async with asyncio.timeout(PATIENCE / 2):
        await tx.rollback()
    if isinstance(desk, DjangoPostgresDesk):  # on SQLite the file is locked until the handler returns
        await free(desk)
        await attempt(desk, lambda: shop.order("pay_3"))
    goes_on.set()
    _, error = await running.ended
    assert "has ended" in str(error)
    async with asyncio.timeout(PATIENCE):
        while not desk.ledger._lanes._idle:  # type: ignore[union-attr]
            await asyncio.sleep(0.01)
    expected = ["pay_3"] if isinstance(desk, DjangoPostgresDesk) else []
    assert await orders(desk) == expected
    await sound(desk)


async def test_an_idle_connection_that_died_is_replaced_without_a_word(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    desk = django_postgres_desk
    shop = Shop(desk.alias)
    await attempt(desk, lambda: shop.order("pay_1"))
    await desk.change(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await attempt(desk, lambda: shop.order("pay_2"), "evt_2")
    assert await orders(desk) == ["pay_1", "pay_2"]


async def test_a_backend_that_is_killed_inside_a_handler_is_the_infrastructures_fault(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    desk = django_postgres_desk
    shop = Shop(desk.alias)

    def handler() -> None:
        shop.order("pay_1")
        pid = connections[desk.alias].connection.info.backend_pid
        asyncio.run_coroutine_threadsafe(desk.change(f"SELECT pg_terminate_backend({pid}, 5000)"), loop).result()
        shop.order("pay_2")

    loop = asyncio.get_running_loop()
    with pytest.raises(Exception) as caught:
        await attempt(desk, handler)
    assert desk.ledger.diagnose(caught.value) is Fault.INFRASTRUCTURE
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    await sound(desk)


@pytest.mark.parametrize("fate", [Fate.CUT_AFTER, Fate.CUT_BEFORE, Fate.SILENCE])
async def test_a_lost_answer_to_commit_is_unknown_and_the_receipt_tells(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
    fate: Fate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, time = django_postgres_desk, LoopTime()
    address = urlsplit(desk.dsn)
    assert address.port
    monkeypatch.setattr(limits, "ANSWER_WAIT", PATIENCE)
    async with Proxy(address.port).running() as proxy:
        given = project.for_postgres(desk.dsn, PORT=proxy.port, OPTIONS={"sslmode": "disable"})
        with project.database(given) as alias:
            shop = Shop(alias)
            ledger = DjangoPostgresLedger(alias, clock=ManualClock(), chance=SeededChance(3), named="ledger")
            await ledger.open()
            far = DjangoPostgresDesk(desk.dsn, alias)
            far.ledger = ledger
            tx = await begun(far)
            await tx.lane.start(lambda: shop.order("pay_1"), is_async=False).ended
            proxy.strike(b"COMMIT\0", fate)
            committing = asyncio.create_task(tx.commit(results=(), effects=()))
            async with asyncio.timeout(PATIENCE):
                await proxy.struck.wait()
            if fate is Fate.SILENCE:
                time.move(PATIENCE)
            with pytest.raises(CommitUnknownError):
                await committing
            await tx.rollback()
            await free(desk)
            happened = fate is not Fate.CUT_BEFORE
            assert (len(await orders(desk)), await receipt_count(desk)) == (happened, happened)
            answer = await attempt(far, lambda: shop.order("pay_2"))
            assert answer == (Receipt(key(), Outcome.DONE) if happened else None)
            await ledger.close()


async def test_a_guard_row_that_is_gone_lets_no_commit_through(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    desk = django_postgres_desk
    shop, hooks = Shop(desk.alias), []

    def handler() -> None:
        shop.order("pay_1")
        transaction.on_commit(lambda: hooks.append(1), using=desk.alias)
        shop.send("DELETE FROM landfast_ledger.guard WHERE xmin::text <> '0'")

    with pytest.raises(HandlerEndedTransactionError):
        await attempt(desk, handler)
    assert (await orders(desk), await receipt_count(desk), hooks) == ([], 0, [])
    await sound(desk)


async def test_what_is_said_with_commit_is_all_that_is_sent_and_django_hears_of_it(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    """The transaction is Django's as much as ours: it shows BEGIN and COMMIT in its log, and is in a block of its own."""
    desk = django_postgres_desk
    shop = Shop(desk.alias)
    seen: list[Any] = []

    def handler() -> None:
        shop.connection.force_debug_cursor = True
        seen.append((shop.connection.in_atomic_block, shop.connection.get_autocommit(), shop.raw.autocommit))
        shop.order("pay_1")
        transaction.on_commit(
            lambda: seen.append([each["sql"] for each in shop.connection.queries_log][1:]), desk.alias
        )

    await attempt(desk, handler)
    assert seen == [(True, False, False), ["COMMIT"]]


@pytest.mark.skipif(bool(os.environ.get("TEST_WITH_PSYCOPG2")), reason="psycopg2 has neither")
@pytest.mark.parametrize("block", ["transaction", "pipeline"])
async def test_a_block_of_psycopgs_that_a_handler_never_left_fails_its_attempt(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
    block: str,
) -> None:
    desk = django_postgres_desk
    shop, kept = Shop(desk.alias), []

    def handler() -> None:
        shop.order("pay_1")
        kept.append(getattr(shop.raw, block)())
        kept[-1].__enter__()

    with pytest.raises(HandlerEndedTransactionError, match=block):
        await attempt(desk, handler)
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)
    await sound(desk)


@pytest.mark.skipif(bool(os.environ.get("TEST_WITH_PSYCOPG2")), reason="Django pools connections of psycopg 3")
async def test_with_djangos_pool_each_transaction_gives_its_connection_back(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    desk = django_postgres_desk
    given = project.for_postgres(desk.dsn, OPTIONS={"pool": {"min_size": 1, "max_size": 1, "timeout": PATIENCE}})
    with project.database(given) as alias:
        shop = Shop(alias)
        ledger = DjangoPostgresLedger(alias, clock=ManualClock(), chance=SeededChance(3), named="ledger")
        await ledger.open()
        far = DjangoPostgresDesk(desk.dsn, alias)
        far.ledger = ledger
        for number in range(3):
            if number == 2:
                await desk.change(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            assert await attempt(far, partial(shop.order, f"pay_{number}"), f"evt_{number}") is None
            assert await asyncio.to_thread(idle_in_pool, alias) == 1
        await ledger.close()
        await asyncio.to_thread(close_pool, alias)
    assert await orders(desk) == ["pay_0", "pay_1", "pay_2"]


def close_pool(alias: str) -> None:
    connections[alias].close_pool()


def idle_in_pool(alias: str) -> int:
    pool = connections[alias].pool
    connection = pool.getconn(PATIENCE)
    pool.putconn(connection)
    return int(pool.get_stats()["pool_size"])


async def test_a_server_that_is_away_is_an_outage_and_not_the_handlers_fault(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    with project.database(project.for_postgres(django_postgres_desk.dsn, PORT=1)) as alias:
        ledger = DjangoPostgresLedger(alias, clock=ManualClock(), chance=SeededChance(3), named="ledger")
        tx = await ledger.begin(deadline=1.0)
        with pytest.raises(LedgerUnavailableError):
            await tx.reserve([key()])
        await tx.rollback()
        await ledger._lanes.close_all()


async def test_what_a_handler_sets_is_undone_for_the_next_one_and_djangos_own_stays(
    django_postgres_desk: DjangoPostgresDesk,  # noqa: F811
) -> None:
    shop = Shop(django_postgres_desk.alias)

    def seen() -> list[str]:
        with shop.connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_setting('TimeZone'), current_setting('work_mem'), current_setting('app.tenant', true)"
            )
            return list(cursor.fetchone())

    def setting() -> None:
        shop.send("SET LOCAL work_mem = '77MB'")
        shop.send("SELECT set_config('app.tenant', 'acme', true)")
        assert seen() == ["UTC", "77MB", "acme"]

    tx = await begun(django_postgres_desk)
    found: list[list[str]] = []
    for handler in (setting, lambda: found.append(seen()), setting, lambda: found.append(seen())):
        await tx.scope()
        _, error = await tx.lane.start(handler, is_async=False).ended
        assert error is None
    assert found == [["UTC", "4MB", ""]] * 2
    await tx.rollback()


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ({"NAME": "shop"}, "postgresql:///shop"),
        (
            {"NAME": "shop", "USER": "a@b", "PASSWORD": "p:/?", "HOST": "db", "PORT": "5433"},
            "postgresql://a%40b:p%3A%2F%3F@db:5433/shop",
        ),
        ({"NAME": "shop", "HOST": "/run/pg", "PORT": 5433}, "postgresql:///shop?host=%2Frun%2Fpg&port=5433"),
        (
            {
                "NAME": "shop",
                "HOST": "db",
                "OPTIONS": {"sslmode": "require", "connect_timeout": 3, "assume_role": "app"},
            },
            "postgresql://db/shop?sslmode=require&options=-c%20role%3Dapp",
        ),
    ],
)
def test_an_alias_has_an_address_without_django(given: dict[str, Any], address: str) -> None:
    with project.database({"ENGINE": "django.db.backends.postgresql", **given}) as alias:
        assert databases.postgres_address(connections[alias]) == address


def test_what_cannot_be_a_ledger_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with project.database(project.for_sqlite(Path(":memory:"))) as alias, pytest.raises(ConfigError, match="in memory"):
        databases.sqlite_file(connections[alias], f"django:{alias}")
    with pytest.raises(ConfigError, match="there is no database 'nowhere' in DATABASES; there are django:default"):
        databases.vendor_of("django:nowhere")


async def begun(desk: DjangoDesk) -> Any:
    tx: Any = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    assert await tx.reserve([key()]) == [None]
    return tx


async def overrun(desk: DjangoDesk, handler: Any, *, until: str) -> None:
    """As a worker does it at the deadline."""
    tx = await begun(desk)
    tx.lane.start(handler, is_async=False)
    async with asyncio.timeout(PATIENCE):
        while await desk.look(until) != [(True,)]:
            await asyncio.sleep(0.01)
        await tx.rollback()


async def free(desk: DjangoDesk) -> None:
    """Until the server has no transaction open but the one that asks."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state <> 'idle'"
    async with asyncio.timeout(PATIENCE):
        while await desk.look(query) != [(1,)]:
            await asyncio.sleep(0.01)
