"""The ledgers on Django's connections, in the whole of the suite."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from landfast.testing.conformance.ledger import StackConformance
from landfast.testing.conformance.ledger.audits import AuditConformance
from landfast.testing.conformance.ledger.effects import EffectConformance
from landfast.testing.conformance.ledger.erase import EraseConformance
from tests.django_shop import project
from tests.ledgers.django_desks import (
    DjangoPostgresDesk,
    DjangoSqliteDesk,
    InlinePostgresDesk,
    InlineSqliteDesk,
    django_postgres_desk,  # noqa: F401 - a fixture
    django_sqlite_desk,  # noqa: F401 - a fixture
)

D = TypeVar("D", InlinePostgresDesk, InlineSqliteDesk)


class TestDjangoPostgres(StackConformance):
    @pytest.fixture
    async def desk(self, django_postgres_desk: DjangoPostgresDesk) -> DjangoPostgresDesk:  # noqa: F811
        return django_postgres_desk


class TestDjangoSqlite(StackConformance):
    @pytest.fixture
    async def desk(self, django_sqlite_desk: DjangoSqliteDesk) -> DjangoSqliteDesk:  # noqa: F811
        return django_sqlite_desk


class InlineConformance(EffectConformance, AuditConformance, EraseConformance):
    """The desk of a ledger in a test. What takes two connections at once is not for it: it has the one of the test."""


class TestInlinePostgres(InlineConformance):
    @pytest.fixture
    async def desk(self, migrated_database: str) -> AsyncIterator[InlinePostgresDesk]:
        with project.database(project.for_postgres(migrated_database)) as alias:
            async for desk in opened(InlinePostgresDesk(migrated_database, alias)):
                yield desk


class TestInlineSqlite(InlineConformance):
    @pytest.fixture
    async def desk(self, tmp_path: Path) -> AsyncIterator[InlineSqliteDesk]:
        with project.database(project.for_sqlite(tmp_path / "shop.db")) as alias:
            async for desk in opened(InlineSqliteDesk(tmp_path / "shop.db", alias)):
                yield desk


async def opened(desk: D) -> AsyncIterator[D]:
    await desk.open()
    yield desk
    await desk.close()
    await sync_to_async(lambda: connections[desk.alias].close())()  # noqa: PLW0108 - in that thread it is another
