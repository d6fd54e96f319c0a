"""What Landfast asks of a ledger on SQLAlchemy before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.ledgers.sqlalchemy.target import Target
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import Ledger
from landfast.sealing import Seal

_TITLES = {"postgresql": "SQLAlchemy/PostgreSQL", "sqlite": "SQLAlchemy/SQLite", "mysql": "SQLAlchemy/MySQL"}
_WAITING: Mapping[str, str] = {
    "sqlalchemy.ext.asyncio.session.AsyncSession": "session",
    "sqlalchemy.ext.asyncio.engine.AsyncConnection": "connection",
}
_BLOCKING: Mapping[str, str] = {
    "sqlalchemy.orm.session.Session": "session",
    "sqlalchemy.engine.base.Connection": "connection",
}


def driver_of(given: object) -> dict[str, Any]:
    """The fields of its LedgerDriver. ConfigError where this engine cannot be a ledger."""
    target = Target(given)
    return {
        "title": _TITLES[target.database],
        "make": make,
        "has_one_writer": target.database == "sqlite",
        "offers": _WAITING if target.is_async else _BLOCKING,
        "runs": frozenset({"async"} if target.is_async else {"sync"}),
    }


def of_mysql(*, is_async: bool) -> dict[str, Any]:
    """Of what an address says: no engine is there yet."""
    return {
        "offers": _WAITING if is_async else _BLOCKING,
        "runs": frozenset({"async"} if is_async else {"sync"}),
    }


def make(target: Any, *, clock: Clock, chance: Chance, seal: Seal | None, concurrency: int, named: str) -> Ledger:
    joined = Target(target)
    if joined.database == "mysql":
        from landfast.ledgers.sqlalchemy.mysql_ledger import SqlalchemyMysqlLedger

        return SqlalchemyMysqlLedger(joined, chance=chance, seal=seal, concurrency=concurrency, named=named)
    from landfast.ledgers.sqlalchemy.ledgers import SqlalchemyPostgresLedger, SqlalchemySqliteLedger

    if joined.database == "sqlite":
        return SqlalchemySqliteLedger(joined, clock=clock, chance=chance, seal=seal)
    return SqlalchemyPostgresLedger(joined, clock=clock, chance=chance, seal=seal, concurrency=concurrency, named=named)
