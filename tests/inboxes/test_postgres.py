"""The inbox on a real PostgreSQL: the conformance suite."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from landfast.testing.conformance.inbox import InboxConformance
from tests.inboxes.postgres_bench import PostgresBench
from tests.servers import Postgres

_templates: dict[Postgres, str] = {}


class TestPostgres(InboxConformance):
    """Without a skip."""

    @pytest.fixture
    async def bench(self, postgres: Postgres) -> AsyncIterator[PostgresBench]:
        name = postgres.new_database(template=await migrated(postgres))
        made = PostgresBench(postgres.dsn(name))
        try:
            await made.inbox.open()
            yield made
        finally:
            await made.close()
            postgres.drop_database(name)


async def migrated(postgres: Postgres) -> str:
    """A database to copy: 200 tests need not migrate each."""
    if postgres not in _templates:
        name = postgres.new_database()
        async with PostgresBench(postgres.dsn(name)).migrated():
            _templates[postgres] = name
    return _templates[postgres]
