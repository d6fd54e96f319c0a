"""Copies of a PostgreSQL database: databases of their own on the same server, and gone when the proof ends."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg

from landfast.domain.errors import ConfigError
from landfast.proving.copies import catalogue
from landfast.proving.hooks.redirect import Redirect, port_of
from landfast.proving.tables import Snapshot, Table

if TYPE_CHECKING:
    from asyncpg import Connection, Record

ANSWER_SECONDS = 30.0
"""To copy a database of a few small tables takes a tenth of a second; on a busy server more."""

ROWS_AT_MOST = 20_000
"""Rows of a table that is compared: more would take longer than the handler."""


class PostgresCopies:
    """Copies of one database: its schema, and the rows of its small tables; or what a script of the user's makes."""

    def __init__(self, dsn: str, *, schema: str | None = None) -> None:
        self._dsn = dsn
        self._schema = schema
        self._prefix = f"landfast_prove_{os.getpid()}_{secrets.token_hex(3)}"
        self._sealed = ""
        self._current = f"{self._prefix}_0"
        self._count = 0
        self._database = ""
        self._port = 0
        self._sequences: list[tuple[Any, ...]] = []
        self.notes: list[str] = []

    @property
    def redirect(self) -> Redirect:
        return Redirect(database=self._database, port=self._port, copy=self._current)

    async def open(self) -> None:
        self._admin: Connection[Record] = await self._connect(self._dsn)
        self._database = await self._admin.fetchval("SELECT current_database()")
        self._port = port_of(self._admin._addr)  # type: ignore[attr-defined]  # noqa: SLF001 - what a handler would dial
        await self._create(self._current, "template0")
        copy = await self._connect(self.address())
        try:
            if self._schema is not None:
                await copy.execute(self._schema)
                return
            # Whatever we do wrong here, the server does not let it change the user's database.
            real = await self._connect(self._dsn, default_transaction_read_only="on")
            try:
                self.notes += await catalogue.copy_schema(real, copy)
            finally:
                await real.close()
        except asyncpg.PostgresError as error:
            raise ConfigError(f"prove: the schema cannot be copied ({error}); give it with --schema FILE") from error
        finally:
            await copy.close()

    async def seal(self) -> None:
        connection = await self._connect(self.address())
        try:
            self._sequences = [tuple(row) for row in await connection.fetch(catalogue.SQL["sequences"])]
        finally:
            await connection.close()
        self._sealed = self._current

    async def fresh(self) -> None:
        if self._current != self._sealed:
            await self._drop(self._current)
        self._count += 1
        self._current = f"{self._prefix}_{self._count}"
        await self._create(self._current, self._sealed)

    async def snapshot(self) -> Snapshot:
        connection = await self._connect(self.address())
        try:
            return await _snapshot(connection)
        finally:
            await connection.close()

    async def rewind(self) -> None:
        connection = await self._connect(self.address())
        try:
            for name, value, is_called in self._sequences:
                await connection.execute("SELECT setval($1::regclass, $2, $3)", name, value, is_called)
        finally:
            await connection.close()

    async def is_blocked(self) -> bool:
        query = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = $1 AND wait_event_type = 'Lock')"
        return bool(await self._admin.fetchval(query, self._current))

    def address(self) -> str:
        parts = urlsplit(self._dsn)
        return urlunsplit(parts._replace(path=f"/{quote(self._current)}"))

    async def close(self) -> None:
        admin = getattr(self, "_admin", None)
        if admin is None:
            return
        try:
            for name in {self._current, self._sealed} - {""}:
                await self._drop(name)
        finally:
            await admin.close()

    async def _create(self, name: str, template: str) -> None:
        try:
            await self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"', timeout=ANSWER_SECONDS)
        except asyncpg.InsufficientPrivilegeError:
            raise ConfigError(
                "prove: the ledger's role may not create the databases that handlers are proven on; ALTER ROLE ..."
                " CREATEDB, or prove them on a server of your own: LANDFAST_LEDGER=postgresql://localhost/dev"
            ) from None

    async def _drop(self, name: str) -> None:
        await self._admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)', timeout=ANSWER_SECONDS)

    async def _connect(self, dsn: str, **settings: str) -> Connection[Record]:
        try:
            return await asyncpg.connect(dsn, timeout=ANSWER_SECONDS, server_settings=settings)
        except (OSError, ValueError, asyncpg.PostgresError) as error:
            raise ConfigError(f"prove: the ledger's database cannot be reached ({error})") from error


async def _snapshot(connection: Connection[Record]) -> Snapshot:
    tables: dict[str, Table] = {}
    uncounted = []
    volatile = await catalogue.volatile_columns(connection)
    for schema, name in await catalogue.user_tables(connection):
        shown = name if schema == "public" else f"{schema}.{name}"
        place = f"{catalogue.quoted(schema)}.{catalogue.quoted(name)}"
        count = await connection.fetchval(f"SELECT count(*) FROM ONLY {place}")  # noqa: S608 - quoted
        if count > ROWS_AT_MOST:
            uncounted.append(shown)
            tables[shown] = Table(("rows",), ((count,),))
            continue
        found = await connection.fetch(f"SELECT * FROM ONLY {place}")  # noqa: S608 - quoted
        columns = await catalogue.column_names(connection, schema, name)
        rows = tuple(tuple(map(_plain, row)) for row in found)
        tables[shown] = Table(tuple(columns), rows, frozenset(volatile.get((schema, name), ())))
    return Snapshot(tables, tuple(uncounted))


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
