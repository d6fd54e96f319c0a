"""What only the PostgreSQL ledger can show: isolation, settings, aborted transactions, and its start."""

from __future__ import annotations

import asyncio
import contextlib
from urllib.parse import urlsplit

import asyncpg
import pytest

from landfast import sqlfiles
from landfast.domain.errors import (
    CommitRefusedError,
    ConfigError,
    LedgerUnavailableError,
    SwallowedDatabaseError,
    UserError,
)
from landfast.domain.fault import Fault
from landfast.domain.ids import InboxId
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers.postgres import PostgresLedger, rows, store
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.arrivals import PAID, patiently, waiting
from landfast.testing.conformance.ledger.desk import (
    DEADLINE,
    effect,
    key,
    order,
    orders,
    process,
    receipt_count,
    reserve,
    stage,
    transaction,
)
from landfast.testing.conformance.ledger.effects import claim
from tests.ledgers.conftest import PostgresDesk
from tests.patience import PATIENCE_SECONDS

OURS = {
    "synchronous_commit": "on",
    "idle_in_transaction_session_timeout": f"{DEADLINE + 5:g}s",
    "client_connection_check_interval": "2s",
}


@pytest.mark.req("R20")
async def test_a_swallowed_database_error_is_found_before_the_commit(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        await order(tx, "pay_1")
        with contextlib.suppress(asyncpg.UniqueViolationError):
            await order(tx, "pay_1")
        with pytest.raises(SwallowedDatabaseError, match="savepoint"):
            await tx.check()
        with pytest.raises(SwallowedDatabaseError, match="savepoint"):
            await tx.commit(results=(), effects=())
    assert (await orders(desk), await receipt_count(desk)) == ([], 0)


async def test_a_commit_that_the_server_answers_with_rollback_is_no_commit(
    postgres_desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = postgres_desk
    tx = await desk.ledger.begin(deadline=PATIENCE_SECONDS)
    await tx.reserve([key()])
    wire = tx._wire.teller
    assert wire is not None
    tell = wire.tell

    async def lose_the_transaction_first(_text: str) -> str:
        with contextlib.suppress(asyncpg.DivisionByZeroError):
            await tell("SELECT 1/0")
        return await tell("COMMIT")

    monkeypatch.setattr(wire, "tell_last", lose_the_transaction_first)
    with pytest.raises(SwallowedDatabaseError):
        await tx.commit(results=(), effects=())
    await tx.rollback()
    assert await receipt_count(desk) == 0


@pytest.mark.parametrize("isolation", ["serializable", "repeatable read"])
async def test_a_concurrent_loser_runs_again_and_finds_the_receipt(postgres_desk: PostgresDesk, isolation: str) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger, isolation=isolation) as first:
        await first.reserve([key()])
        await order(first, "pay_1")
        async with transaction(desk.ledger, isolation=isolation) as second:
            waiting = asyncio.create_task(second.reserve([key()]))
            assert not (await asyncio.wait({waiting}, timeout=0.1))[0]
            await first.commit(results=(), effects=())
            with pytest.raises(asyncpg.SerializationError) as caught:
                await waiting
        assert desk.ledger.diagnose(caught.value) is Fault.CONFLICT
    assert await process(desk.ledger, key(), "pay_2") == Receipt(key(), Outcome.DONE)


async def test_a_serialization_failure_at_commit_can_be_diagnosed(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with (
        transaction(desk.ledger, isolation="serializable") as one,
        transaction(desk.ledger, isolation="serializable") as two,
    ):
        for number, tx in enumerate((one, two)):
            await tx.reserve([key(f"evt_{number}")])
            await tx.handle.fetch("SELECT * FROM shop_order")
        for number, tx in enumerate((one, two)):
            await order(tx, f"pay_{number}")
        await one.commit(results=(), effects=())
        with pytest.raises(CommitRefusedError) as caught:
            await two.commit(results=(), effects=())
    assert desk.ledger.diagnose(caught.value) is Fault.CONFLICT
    assert await orders(desk) == ["pay_0"]


async def test_serializable_handlers_do_not_collide_on_tables_of_ours(postgres_desk: PostgresDesk) -> None:
    ledger = postgres_desk.ledger
    transactions = [await ledger.begin(deadline=PATIENCE_SECONDS, isolation="serializable") for _ in range(4)]
    for number, tx in enumerate(transactions):
        await tx.reserve([key(f"evt_{number}")])
    for tx in transactions:
        await tx.check()
    for number, tx in enumerate(transactions):
        await tx.commit(results=(), effects=[effect(of=key(f"evt_{number}"))])
    assert await receipt_count(postgres_desk) == 4


async def test_serializable_groups_do_not_collide_on_tables_of_ours(postgres_desk: PostgresDesk) -> None:
    """Between two handlers we say RESET ALL, and again before COMMIT; the guard row's place is not lost with it."""
    ledger = postgres_desk.ledger
    transactions = [await ledger.begin(deadline=PATIENCE_SECONDS, isolation="serializable") for _ in range(3)]
    for number, tx in enumerate(transactions):
        await tx.reserve([key(f"evt_{number}_{event}") for event in range(2)])
    for tx in transactions:
        for statement in ("SELECT 1", "SET statement_timeout = '10s'"):
            await (await tx.scope()).handle.execute(statement)
    for tx in transactions:
        await tx.commit(results=(), effects=())
    assert await receipt_count(postgres_desk) == 6


async def test_settings_of_one_handler_do_not_reach_the_next(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with transaction(desk.ledger) as tx:
        await tx.reserve([key()])
        assert {name: await tx.handle.fetchval(f"SHOW {name}") for name in OURS} == OURS
        assert await tx.handle.fetchval("SHOW lock_timeout") == "0"
        mess = ("statement_timeout = '10s'", "search_path = nowhere", "ROLE pg_monitor", "synchronous_commit = off")
        for setting in (*mess, "SESSION AUTHORIZATION pg_monitor"):
            await tx.handle.execute(f"SET LOCAL {setting}")
        await tx.scope()
        assert {name: await tx.handle.fetchval(f"SHOW {name}") for name in OURS} == OURS
        assert await tx.handle.fetchval("SHOW statement_timeout") == "0"
        assert await tx.handle.fetchval("SELECT current_user") == "postgres"
        await order(tx, "pay_1")
        await tx.handle.execute("SET search_path = nowhere")  # of the session, and it outlives the COMMIT
        await tx.scope()
        await tx.commit(results=(), effects=())
    assert await orders(desk) == ["pay_1"]


async def test_a_setting_of_the_session_does_not_outlive_its_transaction(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    for number in range(8):
        async with transaction(desk.ledger) as tx:
            assert await tx.reserve([key(f"evt_{number}")]) == [None]
            assert await tx.handle.fetchval("SHOW statement_timeout") == "0"
            await tx.handle.execute("SET statement_timeout = '10s'")
            await desk.raw(tx.handle.connection, "SELECT pg_advisory_lock(1)")
            await tx.handle.execute("SET SESSION AUTHORIZATION pg_monitor")
            await tx.rollback() if number % 2 else await tx.commit(results=(), effects=())


async def test_a_handler_that_closes_its_connection_keeps_no_place_in_the_pool(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    async with asyncio.timeout(PATIENCE_SECONDS):
        for number in range(6):  # the pool has four
            async with transaction(desk.ledger) as tx:
                await tx.reserve([key()])
                connection = tx.handle.connection
                connection.terminate() if number % 2 else await connection.close()
                with pytest.raises(LedgerUnavailableError):
                    await tx.commit(results=(), effects=())
        assert await process(desk.ledger, key(), "pay_1") is None


async def test_statements_that_a_handler_has_the_server_forget_cost_nobody_an_attempt(
    postgres_desk: PostgresDesk,
) -> None:
    desk = postgres_desk

    async def handler(of: str, *, forgets: bool = False) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(of)])
            await order(tx, of)
            with pytest.raises(UserError, match="DEALLOCATE ALL"):
                await tx.handle.execute("deallocate prepare all")
            if forgets:
                await desk.raw(tx.handle.connection, "DEALLOCATE ALL")
            await tx.commit(results=(), effects=())

    await handler("evt_1")
    with pytest.raises(CommitRefusedError) as ours:
        await handler("evt_2", forgets=True)
    await handler("evt_2", forgets=True)
    with pytest.raises(asyncpg.InvalidSQLStatementNameError) as asyncpgs:
        await handler("evt_3")
    assert [desk.ledger.diagnose(each.value) for each in (ours, asyncpgs)] == [Fault.CONFLICT] * 2
    await handler("evt_3")
    assert await orders(desk) == ["evt_1", "evt_2", "evt_3"]


async def test_a_table_that_changes_under_a_prepared_statement_is_a_reason_to_run_again(
    postgres_desk: PostgresDesk,
) -> None:
    desk = postgres_desk

    async def handler(of: str) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(of)])
            await tx.handle.fetch("SELECT * FROM shop_order")
            await tx.commit(results=(), effects=())

    await handler("evt_1")
    await desk.change("ALTER TABLE shop_order ADD COLUMN note text")
    with pytest.raises(Exception, match="schema") as caught:
        await handler("evt_2")
    assert desk.ledger.diagnose(caught.value) is Fault.CONFLICT
    await handler("evt_2")


async def test_a_lost_primary_key_stops_the_ledger(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    await desk.change("ALTER TABLE landfast_ledger.receipt DROP CONSTRAINT receipt_pkey")
    with pytest.raises(LedgerUnavailableError):
        await reserve(desk.ledger, key())
    (problem,) = await desk.ledger.problems()
    assert "primary key" in problem


async def test_a_table_that_a_migration_locks_is_waited_for_a_second(postgres_desk: PostgresDesk) -> None:
    desk = postgres_desk
    connection = await asyncpg.connect(desk.dsn)
    async with connection.transaction():
        await connection.execute("LOCK TABLE landfast_ledger.receipt")
        with pytest.raises(Exception, match="longer than a second"):
            await reserve(desk.ledger, key())
    await connection.close()
    assert await reserve(desk.ledger, key()) == [None]


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (asyncpg.SerializationError, Fault.CONFLICT),
        (asyncpg.DeadlockDetectedError, Fault.CONFLICT),
        (asyncpg.ConnectionDoesNotExistError, Fault.INFRASTRUCTURE),
        (asyncpg.TooManyConnectionsError, Fault.INFRASTRUCTURE),
        (asyncpg.DiskFullError, Fault.INFRASTRUCTURE),
        (asyncpg.AdminShutdownError, Fault.INFRASTRUCTURE),
        (asyncpg.CannotConnectNowError, Fault.INFRASTRUCTURE),
        (asyncpg.PostgresIOError, Fault.INFRASTRUCTURE),
        (asyncpg.ReadOnlySQLTransactionError, Fault.INFRASTRUCTURE),
        (asyncpg.UndefinedTableError, Fault.SCHEMA),
        (asyncpg.UndefinedColumnError, Fault.SCHEMA),
        (asyncpg.UndefinedFunctionError, Fault.SCHEMA),
        (asyncpg.UndefinedObjectError, Fault.SCHEMA),
        (asyncpg.InvalidSchemaNameError, Fault.SCHEMA),
        (asyncpg.QueryCanceledError, Fault.OTHER),
        (asyncpg.LockNotAvailableError, Fault.OTHER),
        (asyncpg.IdleInTransactionSessionTimeoutError, Fault.OTHER),
        (asyncpg.UniqueViolationError, Fault.OTHER),
        (asyncpg.InFailedSQLTransactionError, Fault.OTHER),
    ],
)
def test_errors_are_diagnosed_by_their_sqlstate(error: type[asyncpg.PostgresError], fault: Fault) -> None:
    ledger = PostgresLedger("postgresql://", clock=ManualClock(), chance=SeededChance())
    assert ledger.diagnose(error("an error")) is fault
    wrapped = CommitRefusedError("refused")
    wrapped.__cause__ = error("an error")
    assert ledger.diagnose(wrapped) is fault


async def test_a_wrong_address_is_told_in_one_sentence_without_the_password(database: str) -> None:
    port = urlsplit(database).port
    wrong = {
        f"postgresql://postgres:hunter2@127.0.0.1:{port}/nowhere": ConfigError,
        f"postgresql://nobody:hunter2@127.0.0.1:{port}/postgres": ConfigError,
        "postgresql://postgres:hunter2@127.0.0.1:notaport/shop": ConfigError,
        "postgresql://postgres:hunter2@127.0.0.1:1/shop": LedgerUnavailableError,
    }
    for dsn, error in wrong.items():
        with pytest.raises(error, match=r"LANDFAST_LEDGER") as caught:
            await PostgresLedger(dsn, clock=ManualClock(), chance=SeededChance()).open()
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("setting", ["synchronous_commit"])
async def test_a_server_that_does_not_keep_what_it_commits_is_refused(
    postgres_desk: PostgresDesk, setting: str
) -> None:
    desk = postgres_desk
    await desk.change(f"ALTER DATABASE {urlsplit(desk.dsn).path[1:]} SET {setting} = off")
    with pytest.raises(ConfigError, match=setting):
        await desk.another()


async def test_a_migration_that_fails_is_named_and_leaves_the_schema_as_it_was(
    postgres_desk: PostgresDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = postgres_desk
    broken = sqlfiles.Migration(99, "broken", "CREATE TABLE landfast_new (id int); CREATE TABLE shop_order (id int)")
    monkeypatch.setattr(store, "MIGRATIONS", [*store.MIGRATIONS, broken])
    with pytest.raises(ConfigError, match="0099_broken"):
        await desk.ledger.migrate()
    assert await desk.look("SELECT to_regclass('landfast_new')::text") == [(None,)]
    assert await desk.look("SELECT max(number) FROM landfast_ledger.migration") == [(len(store.MIGRATIONS) - 1,)]


async def test_two_that_migrate_at_once_make_one_schema(database: str) -> None:
    ledgers = [PostgresLedger(database, clock=ManualClock(), chance=SeededChance(seed)) for seed in range(3)]
    for ledger in ledgers:
        await ledger.open()
    applied = await asyncio.gather(*(ledger.migrate() for ledger in ledgers))
    assert sorted(map(len, applied)) == [0, 0, len(store.MIGRATIONS)]
    assert len({await ledger.bind(InboxId(b"i" * 16)) for ledger in ledgers}) == 1
    for ledger in ledgers:
        await ledger.close()


async def test_a_percent_sign_for_a_placeholder_is_answered_with_what_to_write(postgres_desk: PostgresDesk) -> None:
    async with transaction(postgres_desk.ledger) as tx:
        await tx.reserve([key()])
        with pytest.raises(UserError, match=r"not %s; write \$1"):
            await tx.handle.execute("INSERT INTO shop_order VALUES (%s)", "pay_1")
        await tx.handle.execute("INSERT INTO shop_order SELECT $1 WHERE 'as' LIKE '%s'", "pay_1")
        await tx.commit(results=(), effects=())
    assert await orders(postgres_desk) == ["pay_1"]


async def test_who_waits_for_an_event_waits_for_who_is_handling_it(postgres_desk: PostgresDesk) -> None:
    """The one has looked who waits, and found nobody. The other must not look before the first has committed."""
    desk = postgres_desk
    comer = await asyncpg.connect(desk.dsn)
    try:
        async with comer.transaction():
            await comer.fetch(rows.SQL["arrivals_lock"], [PAID], ["evt_paid"])
            assert await comer.fetch(rows.SQL["arrivals_awaited"], [PAID], ["evt_paid"]) == []
            staging = asyncio.create_task(patiently(desk.ledger, lambda: stage(desk.ledger, *waiting())))
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not staging.done() and not await desk.look("SELECT 1 FROM pg_locks WHERE NOT granted"):
                    await asyncio.sleep(0)
        await staging
    finally:
        await comer.close()
    assert [each.staged.name for each in await claim(desk.ledger, 1)] == ["ship"]
