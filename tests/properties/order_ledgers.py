"""A shop on each ledger that Landfast has. Its inbox is on SQLite, and on PostgreSQL where the ledger is asyncpg's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from landfast.inboxes.postgres import PostgresInbox
from landfast.inboxes.sqlite import SqliteInbox
from landfast.testing.clock import SeededChance
from tests.django_shop import project
from tests.ledgers.conftest import PostgresDesk, SqliteDesk
from tests.ledgers.django_desks import DjangoPostgresDesk, DjangoSqliteDesk
from tests.ledgers.mysql_desks import StackOnMysql
from tests.ledgers.psycopg_desks import BlockingPsycopgDesk, PsycopgDesk
from tests.ledgers.stacks import StackOnPostgres, StackOnSqlite, is_sqlite
from tests.processing.shop import Shop

LEDGERS = (
    "sqlite",
    "postgres",
    "psycopg",
    "blocking psycopg",
    "sqlalchemy asyncpg",
    "sqlalchemy aiosqlite",
    "sqlalchemy sync psycopg2",
    "sqlalchemy sync sqlite",
    "django postgres",
    "django sqlite",
    "mysql aiomysql",
    "mysql sync pymysql",
)

_NUMBER = {
    "sqlite": "INTEGER PRIMARY KEY",
    "postgres": "BIGINT GENERATED ALWAYS AS IDENTITY",
    "mysql": "BIGINT AUTO_INCREMENT PRIMARY KEY",
}


@dataclass
class OrderShop(Shop):
    make_desk: Callable[[], Any] = field(kw_only=True)
    """Called once there is a loop."""
    is_blocking: bool = field(default=False, kw_only=True)
    """Its handlers are no coroutine functions: the stack knows none."""

    async def open(self, *, create: bool = True) -> None:
        self.desk = self.make_desk()
        self.clock = getattr(self.desk, "clock", self.clock)
        self.is_clock_shared = hasattr(self.desk, "clock")
        chance = SeededChance(7)
        if self.store == "postgres":
            self.inbox: Any = PostgresInbox(self.place, clock=self.clock, chance=chance)
        else:
            self.inbox = SqliteInbox(Path(self.place) / "inbox.db", clock=self.clock, chance=chance)
        await self.inbox.open()
        await self.inbox.migrate()
        await self.desk.open()
        self.ledger: Any = self.desk.ledger
        self.inbox_id = await self.inbox.identity()
        dialect = "sqlite" if self.is_clock_shared else "mysql" if isinstance(self.desk, StackOnMysql) else "postgres"
        columns = "what VARCHAR(50), key_ VARCHAR(200), number INTEGER, run INTEGER, late INTEGER, step INTEGER"
        await self.desk.change(f"CREATE TABLE happened (id {_NUMBER[dialect]}, {columns})")

    async def close(self) -> None:
        await self.inbox.close()
        await self.desk.close()

    async def advance(self, seconds: float) -> None:
        if not self.is_clock_shared:
            self.clock.advance(seconds)
        await self.desk.advance(seconds)
        if self.store == "postgres":
            await self.desk.change(
                "CREATE OR REPLACE FUNCTION landfast.clock() RETURNS timestamptz LANGUAGE sql STABLE "
                f"AS $$ SELECT clock_timestamp() + interval '{self.clock.monotonic()} seconds' $$"
            )


@contextmanager
def shop_on(ledger: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[OrderShop]:
    """Not opened yet. It asks for the servers that it needs, and for no others."""
    family, _, stack = ledger.partition(" ")
    file, is_blocking = folder / "ledger.db", "blocking" in ledger or "sync " in ledger
    if ledger in ("sqlite", "django sqlite") or (family == "sqlalchemy" and is_sqlite(stack)):
        with _on_sqlite(family, stack, file) as make:
            yield OrderShop("sqlite", str(folder), make_desk=make, is_blocking=is_blocking)
    elif family == "mysql":
        name = request.getfixturevalue("mariadb_database")
        url = request.getfixturevalue("mariadb").url(name)
        yield OrderShop("sqlite", str(folder), make_desk=lambda: StackOnMysql(stack, url), is_blocking=is_blocking)
    else:
        dsn = request.getfixturevalue("migrated_database")
        with _on_postgres(family, stack, dsn) as make:
            store, place = ("postgres", dsn) if ledger == "postgres" else ("sqlite", str(folder))
            yield OrderShop(store, place, make_desk=make, is_blocking=is_blocking)


@contextmanager
def _on_sqlite(family: str, stack: str, file: Path) -> Iterator[Callable[[], Any]]:
    if family == "django":
        with project.database(project.for_sqlite(file)) as alias:
            yield lambda: DjangoSqliteDesk(file, alias)
    elif family == "sqlalchemy":
        yield lambda: StackOnSqlite(stack, file)
    else:
        yield lambda: SqliteDesk(file)


@contextmanager
def _on_postgres(family: str, stack: str, dsn: str) -> Iterator[Callable[[], Any]]:
    if family == "django":
        with project.database(project.for_postgres(dsn)) as alias:
            yield lambda: DjangoPostgresDesk(dsn, alias)
    elif family == "sqlalchemy":
        yield lambda: StackOnPostgres(stack, dsn)
    else:
        kinds = {"postgres": PostgresDesk, "psycopg": PsycopgDesk, "blocking": BlockingPsycopgDesk}
        yield lambda: kinds[family](dsn)
