"""The PostgreSQL ledger."""

from __future__ import annotations

import pytest

from landfast.testing.conformance.ledger import LedgerConformance
from tests.ledgers.conftest import PostgresDesk


class TestPostgres(LedgerConformance):
    @pytest.fixture
    async def desk(self, postgres_desk: PostgresDesk) -> PostgresDesk:
        return postgres_desk
