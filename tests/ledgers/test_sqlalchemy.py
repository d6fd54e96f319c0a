"""Ledgers on SQLAlchemy's engines pass the suite of every ledger. Their desk is that of PostgreSQL and SQLite: what is
about it is tried on one of them, what is about transactions on all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.testing.conformance.ledger import Desk, StackConformance
from landfast.testing.conformance.ledger.receipts import ReceiptConformance
from landfast.testing.conformance.ledger.replays import ReplayConformance
from landfast.testing.conformance.ledger.transactions import EndingConformance, GuardConformance, HandleConformance
from landfast.testing.conformance.ledger.writes import WritesConformance
from tests.ledgers.stacks import STACKS, desk_on, is_sqlite


class TestAsyncpg(StackConformance):
    @pytest.fixture
    async def desk(self, migrated_database: str) -> AsyncIterator[Desk]:
        async with desk_on("asyncpg", migrated_database) as desk:
            yield desk


@pytest.mark.parametrize("stack", STACKS[1:])
class TestTransactions(
    ReceiptConformance, ReplayConformance, HandleConformance, WritesConformance, GuardConformance, EndingConformance
):
    @pytest.fixture
    async def desk(self, stack: str, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Desk]:
        if is_sqlite(stack):  # as many have it on: the suite has a deferred constraint
            opened = desk_on(stack, tmp_path / "shop.db", foreign_keys=True)
        else:
            opened = desk_on(stack, request.getfixturevalue("migrated_database"))
        async with opened as desk:
            yield desk
