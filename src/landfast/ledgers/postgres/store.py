"""Connecting to, migrating and examining a PostgreSQL ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from landfast import sqlfiles
from landfast.domain.errors import ConfigError
from landfast.ledgers import limits, schema
from landfast.ledgers.postgres import faults, rows
from landfast.postgres_types import KnowingConnection

if TYPE_CHECKING:
    from asyncpg import Connection, Record
    from asyncpg.pool import Pool, PoolConnectionProxy

MIGRATIONS = sqlfiles.migrations("landfast.ledgers.postgres")

OLDEST_VERSION = 14
"""The first with client_connection_check_interval, which notices a client that went away during a statement."""

STATEMENTS = 100
"""Prepared statements that a connection keeps: ours are a dozen, handlers have their own. Without them each statement
takes a second round trip, and three times as long."""


async def connect(dsn: str, *, handlers: int, desk: int, named: str) -> list[Pool[Record]]:
    """Pools of these sizes, on a server that can keep our promise. `named` is the setting that the address is from. A
    handler's statements have its deadline; those at the desk are our own, and are never waited for without end."""
    pools: list[Pool[Record]] = []
    try:
        statements = await _check_server(dsn, named)
        for size, patience in ((handlers, None), (desk, limits.ANSWER_WAIT)):
            pool = asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=size,
                statement_cache_size=statements,
                timeout=limits.CONNECT_WAIT,
                command_timeout=patience,
                connection_class=KnowingConnection,
            )
            pools.append(pool)
            await pool
    except (ValueError, *faults.ANY) as error:
        for pool in pools:
            pool.terminate()
        raise faults.unopened(dsn, error, named) from error
    return pools


async def _check_server(dsn: str, named: str) -> int:
    """Refuse a server that does not keep what it commits; otherwise, how many prepared statements it may keep."""
    connection = await asyncpg.connect(
        dsn, statement_cache_size=0, timeout=limits.CONNECT_WAIT, command_timeout=limits.ANSWER_WAIT
    )
    try:
        if connection.get_server_version().major < OLDEST_VERSION:
            raise ConfigError(f"{named}: use PostgreSQL {OLDEST_VERSION} or newer; this one is older")
        for problem in await _durability(connection):
            raise ConfigError(problem)
        return 0 if await is_pooled(connection) else STATEMENTS
    finally:
        connection.terminate()


async def is_pooled(connection: Connection[Record]) -> bool:
    """Whether PgBouncer or the like is in between. It gives out process ids of its own, and behind it the next
    transaction may be on another server connection, where nothing that we prepared exists."""
    pid = await connection.fetchval("SELECT pg_backend_pid()", timeout=limits.ANSWER_WAIT)
    return bool(pid != connection.get_server_pid())


async def migrate(connection: PoolConnectionProxy[Record], name: str) -> Sequence[str]:
    """All that is missing, in one transaction: crash anywhere, and the schema is the old one."""
    async with connection.transaction():
        await connection.execute(rows.SQL["migrations_lock"])
        await connection.execute(rows.SQL["migrations"])
        missing = sqlfiles.missing(MIGRATIONS, await _applied(connection))
        done = [await _apply(connection, migration) for migration in missing]
        await connection.execute(rows.SQL["name_draw"], name)
    return done


async def examine(connection: PoolConnectionProxy[Record]) -> tuple[list[str], list[str]]:
    """What makes it unsafe, and what is wrong besides."""
    columns = await connection.fetch(rows.SQL["columns"], list(schema.COLUMNS))
    tables = {table: frozenset(row["name"] for row in columns if row["table"] == table) for table in schema.COLUMNS}
    hazards, others = schema.missing(tables), schema.added(tables)
    if tables["landfast_receipt"]:
        key = frozenset(row["name"] for row in columns if row["table"] == "landfast_receipt" and row["key"])
        applied = await _applied(connection)
        hazards += schema.key_problems(key)
        hazards += sqlfiles.behind("ledger", MIGRATIONS, applied)
        others += sqlfiles.newer("ledger", MIGRATIONS, applied)
    hazards += [
        f"ledger: {table} is unlogged, so a crash empties it; ALTER TABLE {table} SET LOGGED"
        for table in sorted({row["table"] for row in columns if row["unlogged"]})
    ]
    return hazards + await _durability(connection), others


async def _durability(connection: Connection[Record] | PoolConnectionProxy[Record]) -> list[str]:
    return [
        f"ledger: the server runs with {row['name']} = off, so a crash could undo a COMMIT; switch it on,"
        " or, where a managed service does not let you, use another server"
        for row in await connection.fetch(rows.SQL["durability"])
        if row["setting"] == "off"
    ]


async def _applied(connection: PoolConnectionProxy[Record]) -> frozenset[int]:
    return frozenset(row["number"] for row in await connection.fetch(rows.SQL["migrations_applied"]))


async def _apply(connection: PoolConnectionProxy[Record], migration: sqlfiles.Migration) -> str:
    with migration.applying("ledger", asyncpg.PostgresError):
        await connection.execute(migration.sql, timeout=limits.MIGRATION_WAIT)
    await connection.execute(rows.SQL["migrations_add"], migration.number, migration.name)
    return migration.label
