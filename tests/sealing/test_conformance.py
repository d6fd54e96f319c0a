"""With a seal, a store does what it does without: the sentences of the ports about what is stored and given back."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.testing.conformance.inbox.erase import EraseConformance
from landfast.testing.conformance.inbox.failures import FailureConformance
from landfast.testing.conformance.inbox.find import FindConformance
from landfast.testing.conformance.inbox.memory import MemoryConformance
from landfast.testing.conformance.inbox.operator_log import OperatorLogConformance
from landfast.testing.conformance.inbox.record import RecordConformance
from landfast.testing.conformance.ledger.effects import EffectConformance
from landfast.testing.conformance.ledger.erase import EraseConformance as LedgerEraseConformance
from landfast.testing.conformance.ledger.receipts import TombstoneConformance
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench
from tests.inboxes.test_postgres import migrated
from tests.ledgers.conftest import PostgresDesk, SqliteDesk
from tests.servers import Postgres

MASTER = bytes(range(32))


class InboxConformance(
    RecordConformance,
    FindConformance,
    FailureConformance,
    MemoryConformance,
    EraseConformance,
    OperatorLogConformance,
):
    """Those parts in which bodies, headers or texts go in or out."""


class LedgerConformance(TombstoneConformance, EffectConformance, LedgerEraseConformance):
    """Those parts in which results, arguments or texts go in or out."""


class TestSealedSqliteInbox(InboxConformance):
    @pytest.fixture
    async def bench(self, tmp_path: Path, migrated_folder: Path) -> AsyncIterator[SqliteBench]:
        bench = SqliteBench(Path(shutil.copy(migrated_folder / "inbox.db", tmp_path)), master=MASTER)
        await bench.inbox.open()
        await bench.inbox.migrate()
        yield bench
        await bench.close()


class TestSealedPostgresInbox(InboxConformance):
    @pytest.fixture
    async def bench(self, postgres: Postgres) -> AsyncIterator[PostgresBench]:
        name = postgres.new_database(template=await migrated(postgres))
        bench = PostgresBench(postgres.dsn(name), master=MASTER)
        await bench.inbox.open()
        yield bench
        await bench.close()
        postgres.drop_database(name)


class TestSealedSqliteLedger(LedgerConformance):
    @pytest.fixture
    async def desk(self, tmp_path: Path) -> AsyncIterator[SqliteDesk]:
        desk = SqliteDesk(tmp_path / "shop.db", master=MASTER)
        await desk.open()
        yield desk
        await desk.close()


class TestSealedPostgresLedger(LedgerConformance):
    @pytest.fixture
    async def desk(self, migrated_database: str) -> AsyncIterator[PostgresDesk]:
        desk = PostgresDesk(migrated_database, master=MASTER)
        await desk.open()
        yield desk
        await desk.close()
