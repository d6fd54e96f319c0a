"""A ledger that an older version has made beside the user's tables moves into a schema of its own, with all that is in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from landfast.domain.effect import EffectState
from landfast.domain.errors import ConfigError, LedgerUnavailableError
from landfast.domain.ids import InboxId
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers import schema
from landfast.ledgers.postgres import PostgresLedger, store
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.conformance.ledger.desk import BUSINESS, effect, key, process, reserve
from tests.servers import Postgres

FIRST_IN_A_SCHEMA = 5
INBOX = InboxId(b"i" * 16)

BOOKKEEPING = "CREATE TABLE IF NOT EXISTS landfast_ledger_migration (number integer PRIMARY KEY, name text NOT NULL)"
"""As every version before has said it when it came up."""


async def make_old(dsn: str, *, in_schema: str = "public", migrations: int = FIRST_IN_A_SCHEMA - 1) -> None:
    """As a version of then has left it, with a receipt, an effect that waits, and its name."""
    connection = await asyncpg.connect(dsn)
    of, staged = key(), effect()
    try:
        await connection.execute(f"SET search_path = {in_schema}")
        await connection.execute(BOOKKEEPING)
        for migration in store.MIGRATIONS[:migrations]:
            await connection.execute(migration.sql)
            noted = (migration.number, migration.name)
            await connection.execute("INSERT INTO landfast_ledger_migration VALUES ($1, $2)", *noted)
        await connection.execute("INSERT INTO landfast_ledger (id, name) VALUES (1, 'the name of then')")
        await connection.execute("INSERT INTO landfast_ledger_inbox (inbox) VALUES ($1)", INBOX)
        values = (of.digest, of.handler, b'{"order":1}')
        await connection.execute("INSERT INTO landfast_receipt VALUES ($1, $2, 1, 'done', $3)", *values)
        await connection.execute(
            "INSERT INTO landfast_effect (key, run, name, arguments, context, digest, handler)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7)",
            *(staged.key, staged.run, staged.name, staged.arguments, staged.context, staged.digest, staged.handler),
        )
        for statement in BUSINESS:
            await connection.execute(statement)
    finally:
        await connection.close()


@asynccontextmanager
async def opened(dsn: str, seed: int = 1) -> AsyncIterator[PostgresLedger]:
    ledger = PostgresLedger(dsn, clock=ManualClock(), chance=SeededChance(seed))
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.close()


async def tables(dsn: str, in_schema: str) -> set[str]:
    connection = await asyncpg.connect(dsn)
    found = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = $1", in_schema)
    await connection.close()
    return {row[0] for row in found}


@pytest.mark.parametrize("migrations", [1, FIRST_IN_A_SCHEMA - 1])
@pytest.mark.parametrize("place", ["public", '"Shop 2"'])
async def test_a_ledger_of_before_moves_with_everything_that_is_in_it(
    database: str, database_name: str, place: str, migrations: int
) -> None:
    connection = await asyncpg.connect(database)
    await connection.execute(f"CREATE SCHEMA IF NOT EXISTS {place}")
    await connection.execute(f"ALTER DATABASE {database_name} SET search_path = {place}, public")
    await connection.close()
    await make_old(database, in_schema=place, migrations=migrations)
    async with opened(database) as ledger:
        applied = await ledger.migrate()
        assert applied == [migration.label for migration in store.MIGRATIONS[migrations:]]
        assert await ledger.problems() == []
        assert await ledger.migrate() == []
        assert await ledger.bind(INBOX) == "the name of then"
        assert await ledger.receipts([key().digest]) == [Receipt(key(), Outcome.DONE, b'{"order":1}')]
        assert (await ledger.counts())[EffectState.READY] == 1
        assert await process(ledger, key(), "pay_1") == Receipt(key(), Outcome.DONE, b'{"order":1}')
        assert await process(ledger, key("evt_2"), "pay_2") is None
    assert await tables(database, place.strip('"')) == {"shop_order", "shop_line"}
    assert await tables(database, schema.SCHEMA) == {*schema.COLUMNS, "migration"}


async def test_a_fresh_ledger_leaves_nothing_beside_the_users_tables(database: str) -> None:
    async with opened(database) as ledger:
        await ledger.migrate()
        assert await ledger.problems() == []
    connection = await asyncpg.connect(database)
    found = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " UNION ALL SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
    )
    named = await connection.fetchval(
        "SELECT count(*) FROM pg_class WHERE relnamespace = 'landfast_ledger'::regnamespace AND relname LIKE 'landfast%'"
    )
    await connection.close()
    assert (found, named) == ([], 0)


async def test_that_it_must_be_moved_is_said_in_one_sentence(database: str) -> None:
    await make_old(database)
    async with opened(database) as ledger:
        (problem,) = await ledger.problems()
        assert problem == (
            "ledger: its tables are still in the schema public; run landfast migrate, which moves them to landfast_ledger"
        )
        assert await ledger.hazards() == [problem]
        with pytest.raises(LedgerUnavailableError, match="run landfast migrate"):
            await reserve(ledger, key("evt_2"))


async def test_an_older_version_finds_no_place_to_write_and_makes_none(database: str) -> None:
    """Its own first statements, and a worker of it that still runs."""
    await make_old(database)
    running = await asyncpg.connect(database)
    write = "INSERT INTO landfast_receipt (digest, handler, run, outcome) VALUES ($1, '', 1, 'done')"
    await running.execute(write, b"one")  # prepared from now on, as by a worker that has run for long
    async with opened(database) as ledger:
        await ledger.migrate()
    with pytest.raises(asyncpg.UndefinedTableError):
        await running.execute(write, b"another")
    await running.execute(BOOKKEEPING)
    with pytest.raises(asyncpg.RaiseError, match="in the schema landfast_ledger now; install the version of Landfast"):
        await running.fetch("SELECT number FROM landfast_ledger_migration")
    await running.close()


async def test_the_search_path_changes_nothing(migrated_database: str) -> None:
    connection = await asyncpg.connect(migrated_database)
    for table in (*schema.COLUMNS, "migration"):  # traps: whoever wrote here would have to use the search_path
        await connection.execute(f"CREATE TABLE {table} (trap integer CHECK (false))")
        await connection.execute(f"CREATE TABLE {schema.beside_others(table)} (trap integer CHECK (false))")
    await connection.execute(BUSINESS[0])
    await connection.close()
    async with opened(f"{migrated_database}?search_path=public") as ledger:
        assert await ledger.migrate() == []
        assert await process(ledger, key(), "pay_1") is None
        assert await process(ledger, key(), "pay_1") is not None
        assert await ledger.problems() == []


async def test_who_moves_it_while_others_work_waits_for_them(database: str) -> None:
    await make_old(database)
    worker = await asyncpg.connect(database)
    begun = worker.transaction()
    await begun.start()
    await worker.execute("INSERT INTO landfast_guard DEFAULT VALUES")
    async with opened(database, 1) as one, opened(database, 2) as two:
        moving = [asyncio.create_task(ledger.migrate()) for ledger in (one, two)]
        assert not (await asyncio.wait(moving, timeout=0.2))[0]
        await worker.execute("INSERT INTO landfast_receipt VALUES ('another', 'create_order', 1, 'done')")
        await worker.execute("DELETE FROM landfast_guard")
        await begun.commit()
        missing = len(store.MIGRATIONS) - FIRST_IN_A_SCHEMA + 1
        assert sorted([len(await each) for each in moving]) == [0, missing]
        connection = await asyncpg.connect(database)
        assert await connection.fetchval("SELECT count(*) FROM landfast_ledger.receipt") == 2
        await connection.close()
    await worker.close()


async def test_rights_on_the_tables_come_along(postgres: Postgres, database: str, database_name: str) -> None:
    role = f"worker_of_{database_name}"
    await make_old(database)
    postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    postgres.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}", database=database_name)
    async with opened(database) as ledger:
        await ledger.migrate()
    async with opened(postgres.dsn(database_name, user=f"{role}:secret")) as theirs:
        assert await theirs.migrate() == []
        assert await process(theirs, key("evt_2"), "pay_2") is None
    postgres.execute(f"DROP OWNED BY {role}; DROP ROLE {role}", database=database_name)


async def test_who_may_not_make_the_schema_is_told_what_to_do(postgres: Postgres, database_name: str) -> None:
    role = f"owner_of_{database_name}"
    postgres.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'secret'")
    async with opened(postgres.dsn(database_name, user=f"{role}:secret")) as theirs:
        with pytest.raises(ConfigError, match="CREATE SCHEMA landfast_ledger AUTHORIZATION"):
            await theirs.migrate()
        postgres.execute(f"CREATE SCHEMA landfast_ledger AUTHORIZATION {role}", database=database_name)
        assert len(await theirs.migrate()) == len(store.MIGRATIONS)
        assert await theirs.problems() == []
    postgres.execute(f"DROP OWNED BY {role}; DROP ROLE {role}", database=database_name)
