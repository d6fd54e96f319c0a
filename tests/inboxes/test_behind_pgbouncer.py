"""Inbox and ledger behind a real PgBouncer in transaction mode, where each transaction meets another session."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from landfast.domain.ids import InboxId, Token
from landfast.testing.conformance.inbox.claim import ClaimConformance
from landfast.testing.conformance.inbox.erase import EraseConformance
from landfast.testing.conformance.inbox.record import RecordConformance
from landfast.testing.conformance.inbox.settle import SettleConformance
from landfast.testing.conformance.inbox.store import StoreConformance
from landfast.testing.conformance.ledger.desk import key, process, transaction
from landfast.testing.conformance.ledger.effects import EffectConformance
from landfast.testing.conformance.ledger.erase import EraseConformance as LedgerEraseConformance
from landfast.testing.conformance.ledger.receipts import ReceiptConformance
from landfast.testing.conformance.ledger.store import StoreConformance as LedgerStoreConformance
from landfast.testing.conformance.ledger.transactions import EndingConformance, GuardConformance, HandleConformance
from landfast.testing.factory import delivery
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.test_postgres import migrated
from tests.ledgers.conftest import PostgresDesk
from tests.pgbouncer import PgBouncer
from tests.servers import Postgres


class TestInbox(RecordConformance, ClaimConformance, SettleConformance, EraseConformance, StoreConformance):
    """The parts that use what a session has: statements that are kept, transactions, VACUUM, migrations. The whole suite
    passes as well, and takes two minutes more."""

    @pytest.fixture
    async def bench(self, postgres: Postgres, pgbouncer: PgBouncer) -> AsyncIterator[PostgresBench]:
        name = postgres.new_database(template=await migrated(postgres))
        made = PostgresBench(postgres.dsn(name), pooled=pgbouncer.dsn(name))
        try:
            await made.inbox.open()
            yield made
        finally:
            await made.close()
            postgres.drop_database(name)


class TestLedger(
    ReceiptConformance,
    HandleConformance,
    GuardConformance,
    EndingConformance,
    EffectConformance,
    LedgerEraseConformance,
    LedgerStoreConformance,
):
    @pytest.fixture
    async def desk(self, postgres: Postgres, migrated: str, pgbouncer: PgBouncer) -> AsyncIterator[PostgresDesk]:
        name = postgres.new_database(template=migrated)
        made = PostgresDesk(postgres.dsn(name), pooled=pgbouncer.dsn(name))
        await made.open()
        yield made
        await made.close()
        postgres.drop_database(name)


async def test_nothing_stays_in_a_session_that_others_get(
    postgres: Postgres, migrated_database: str, pgbouncer: PgBouncer
) -> None:
    name = migrated_database.rpartition("/")[2]
    bench = PostgresBench(migrated_database, pooled=pgbouncer.dsn(name))
    desk = PostgresDesk(migrated_database, pooled=pgbouncer.dsn(name))
    await bench.inbox.open()
    await desk.open()
    try:
        await bench.inbox.record([delivery(f"evt_{number}") for number in range(5)])
        assert len(await bench.inbox.claim(token=Token(b"t" * 16), lease=30, limit=5)) == 5
        await desk.ledger.bind(InboxId(b"i" * 16))
        assert await process(desk.ledger, key(), "pay_1") is None
        async with transaction(desk.ledger) as tx:  # a handler that prepares by itself, as asyncpg's users do
            await tx.reserve([key("evt_2")])
            statement = await tx.handle.connection.prepare("SELECT $1::int")
            assert await statement.fetchval(7) == 7
            await tx.commit(results=(), effects=())
        left = []
        for _ in range(16):  # each of these is another session
            connection = await asyncpg.connect(pgbouncer.dsn(name), statement_cache_size=0)
            left += await connection.fetch(
                "SELECT name FROM pg_prepared_statements WHERE name NOT IN ('', '__landfast_stmt_') AND name"
                " NOT LIKE '\\_\\_landfast%' UNION ALL SELECT name FROM pg_settings WHERE source = 'session'"
                " AND name IN ('jit', 'plan_cache_mode', 'synchronous_commit', 'search_path', 'lock_timeout')"
            )
            await connection.close()
        assert left == []
        (caution,) = await bench.inbox.cautions()
        assert "pooler" in caution and "LANDFAST_STORE" in caution
    finally:
        await bench.close()
        await desk.close()
