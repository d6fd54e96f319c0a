"""Connecting to, migrating and examining a PostgreSQL ledger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from landfast import sqlfiles
from landfast.domain.errors import ConfigError
from landfast.ledgers import limits, schema
from landfast.ledgers.postgres import faults, rows
from landfast.postgres_pooling import PooledConnection, connecting, is_pooled

if TYPE_CHECKING:
    from asyncpg import Connection, Record
    from asyncpg.pool import Pool, PoolConnectionProxy

MIGRATIONS = sqlfiles.migrations("landfast.ledgers.postgres")

OLDEST_VERSION = 14
"""The first with client_connection_check_interval, which notices a client that went away during a statement."""


async def connect(dsn: str, *, handlers: int, desk: int, named: str) -> list[Pool[Record]]:
    """Pools of these sizes, none for a size of 0, on a server that can keep our promise. `named` is the setting that
    the address is from. A handler's statements have its deadline; those at the desk are our own, and are never waited
    for without end."""
    pools: list[Pool[Record]] = []
    try:
        pooled = await _check_server(dsn, named)
        for size, patience in ((handlers, None), (desk, limits.ANSWER_WAIT)):
            if not size:
                continue
            pool = asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=size,
                timeout=limits.CONNECT_WAIT,
                command_timeout=patience,
                **connecting(pooled=pooled),
            )
            pools.append(pool)
            await pool
    except (ValueError, *faults.ANY) as error:
        for pool in pools:
            pool.terminate()
        raise faults.unopened(dsn, error, named) from error
    return pools


def is_pooled_by(pool: Pool[Record]) -> bool:
    """What `connect` found out."""
    return pool._connection_class is PooledConnection  # type: ignore[attr-defined]  # noqa: SLF001 - as we gave it


async def _check_server(dsn: str, named: str) -> bool:
    """Refuse a server that does not keep what it commits; otherwise, whether a pooler is in between."""
    connection = await asyncpg.connect(
        dsn, statement_cache_size=0, timeout=limits.CONNECT_WAIT, command_timeout=limits.ANSWER_WAIT
    )
    try:
        if connection.get_server_version().major < OLDEST_VERSION:
            raise ConfigError(f"{named}: use PostgreSQL {OLDEST_VERSION} or newer; this one is older")
        for problem in await _durability(connection):
            raise ConfigError(problem)
        return await is_pooled(connection)
    finally:
        connection.terminate()


async def migrate(connection: PoolConnectionProxy[Record], name: str) -> Sequence[str]:
    """All that is missing, in one transaction: crash anywhere, and the schema is the old one."""
    async with connection.transaction():
        await connection.execute(rows.SQL["migrations_lock"])
        await _find_place(connection)
        missing = sqlfiles.missing(MIGRATIONS, await _applied(connection))
        done = [await _apply(connection, migration) for migration in missing]
        await connection.execute(rows.SQL["name_draw"], name)
    return done


async def _find_place(connection: PoolConnectionProxy[Record]) -> None:
    """Where the first migrations are to work: in our own schema, or where an older version has put its tables."""
    if await connection.fetchval("SELECT to_regclass($1) IS NOT NULL", schema.in_schema("migration")):
        return
    place = await connection.fetchval(rows.SQL["migrations_place"])
    if await connection.fetchval("SELECT to_regnamespace($1) IS NULL", schema.SCHEMA):
        try:
            await connection.execute(rows.SQL["migrations_schema"])
        except asyncpg.InsufficientPrivilegeError as error:
            raise ConfigError(
                f"ledger: {error}; grant CREATE on the database to its user, or let its owner say"
                f" CREATE SCHEMA {schema.SCHEMA} AUTHORIZATION and that user's name"
            ) from error
    await connection.execute(rows.SQL["migrations_look"], place or schema.SCHEMA)
    await connection.execute(rows.SQL["migrations"])
    if place is not None:
        await connection.execute(rows.SQL["migrations_carry"])


async def examine(connection: PoolConnectionProxy[Record]) -> tuple[list[str], list[str]]:
    """What makes it unsafe, and what is wrong besides."""
    columns = await connection.fetch(rows.SQL["columns"], list(schema.COLUMNS))
    if not columns and (place := await connection.fetchval(rows.SQL["migrations_place"])):
        return schema.not_moved(place) + await _durability(connection), []
    tables = {noun: frozenset(row["name"] for row in columns if row["table"] == noun) for noun in schema.COLUMNS}
    hazards, others = schema.missing(tables, schema.in_schema), schema.added(tables, schema.in_schema)
    if tables["receipt"]:
        key = frozenset(row["name"] for row in columns if row["table"] == "receipt" and row["key"])
        applied = await _applied(connection)
        hazards += schema.key_problems(key, schema.in_schema)
        hazards += sqlfiles.behind("ledger", MIGRATIONS, applied)
        others += sqlfiles.newer("ledger", MIGRATIONS, applied)
    hazards += [
        f"ledger: {table} is unlogged, so a crash empties it; ALTER TABLE {table} SET LOGGED"
        for table in sorted({schema.in_schema(row["table"]) for row in columns if row["unlogged"]})
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
