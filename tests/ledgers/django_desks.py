"""Ledgers on Django's connections, beside the same small shop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from landfast.ledgers.django.inline import inline_ledger
from landfast.ledgers.django.ledger import DjangoPostgresLedger, DjangoSqliteLedger
from landfast.sealing import Seal
from landfast.testing.clock import ManualClock, SeededChance
from tests.django_shop import project
from tests.ledgers.conftest import PostgresDesk, SqliteDesk


class DjangoPostgresDesk(PostgresDesk):
    def __init__(self, dsn: str, alias: str) -> None:
        self.alias = alias
        super().__init__(dsn)

    async def raw(self, connection: Any, statement: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)

    def _new(self, seed: int) -> Any:
        return DjangoPostgresLedger(
            self.alias, clock=ManualClock(), chance=SeededChance(seed), named="ledger", seal=Seal(self.masters)
        )


class DjangoSqliteDesk(SqliteDesk):
    def __init__(self, path: Path, alias: str) -> None:
        super().__init__(path)
        self.alias = alias
        self.ledger = self._new(1)

    async def another(self) -> Any:
        other = self._new(2)
        await other.open()
        self._others.append(other)
        return other

    def _new(self, seed: int) -> Any:
        return DjangoSqliteLedger(
            self.alias, clock=self.clock, chance=SeededChance(seed), named="ledger", seal=Seal(self.masters)
        )


class InlinePostgresDesk(DjangoPostgresDesk):
    def _new(self, seed: int) -> Any:
        return inline_ledger(self.alias, clock=ManualClock(), chance=SeededChance(seed), seal=Seal(self.masters))


class InlineSqliteDesk(DjangoSqliteDesk):
    def _new(self, seed: int) -> Any:
        return inline_ledger(self.alias, clock=self.clock, chance=SeededChance(seed), seal=Seal(self.masters))


@pytest.fixture
async def django_postgres_desk(migrated_database: str) -> AsyncIterator[DjangoPostgresDesk]:
    with project.database(project.for_postgres(migrated_database)) as alias:
        desk = DjangoPostgresDesk(migrated_database, alias)
        await desk.open()
        yield desk
        await desk.close()


@pytest.fixture
async def django_sqlite_desk(tmp_path: Path) -> AsyncIterator[DjangoSqliteDesk]:
    with project.database(project.for_sqlite(tmp_path / "shop.db")) as alias:
        desk = DjangoSqliteDesk(tmp_path / "shop.db", alias)
        await desk.open()
        yield desk
        await desk.close()
