"""Ledgers on psycopg's pools: the conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from landfast.testing.conformance.ledger import StackConformance
from tests.ledgers.psycopg_desks import BlockingPsycopgDesk, PsycopgDesk


class TestAsyncPool(StackConformance):
    @pytest.fixture
    async def desk(self, migrated_database: str) -> AsyncIterator[PsycopgDesk]:
        desk = PsycopgDesk(migrated_database)
        await desk.open()
        yield desk
        await desk.close()


class TestBlockingPool(StackConformance):
    @pytest.fixture
    async def desk(self, migrated_database: str) -> AsyncIterator[BlockingPsycopgDesk]:
        desk = BlockingPsycopgDesk(migrated_database)
        await desk.open()
        yield desk
        await desk.close()
