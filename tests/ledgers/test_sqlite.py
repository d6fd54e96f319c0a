"""The SQLite ledger."""

from __future__ import annotations

import pytest

from landfast.testing.conformance.ledger import LedgerConformance
from tests.ledgers.conftest import SqliteDesk


class TestSqlite(LedgerConformance):
    @pytest.fixture
    async def desk(self, sqlite_desk: SqliteDesk) -> SqliteDesk:
        return sqlite_desk
