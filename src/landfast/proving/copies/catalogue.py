"""A PostgreSQL schema, read from the server's catalogue and made again elsewhere, with the rows of small tables."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TYPE_CHECKING

import asyncpg

from landfast import sqlfiles

if TYPE_CHECKING:
    from asyncpg import Connection, Record

SQL = sqlfiles.statements("landfast.proving.copies")

_BEFORE_ROWS = (
    "extensions", "schemas", "enums", "composites", "domains", "sequences", "functions", "tables", "partitions"
)  # fmt: skip
_AFTER_ROWS = ("constraints", "indexes", "views", "triggers")
"""In this order most of it can be made at the first try."""

ROWS_COPIED_AT_MOST = 1_000
"""Rows of a table that come along: what handlers look up, such as plans and accounts, not the orders of ten years."""

TRIES_AT_MOST = 8
"""Rounds in which what depends on something later in the list finds it at last."""


async def copy_schema(real: Connection[Record], copy: Connection[Record]) -> list[str]:
    """What could not be copied, in sentences."""
    await copy.execute("SET check_function_bodies = off")
    failed = await _make(copy, [*await _statements(real, _BEFORE_ROWS)])
    notes = await _copy_rows(real, copy)
    failed += await _make(copy, [*await _statements(real, _AFTER_ROWS)])
    foreign = await _statements(real, ("foreign_keys",))
    # Of a table whose rows did not come along, those that refer to them are not checked; what handlers write is.
    failed += await _make(copy, [each if "NOT VALID" in each else f"{each} NOT VALID" for each in foreign])
    notes += [f"not copied: {' '.join(each.split())[:120]}" for each in failed]
    if count := await real.fetchval(SQL["count_policies"]):
        notes.append(f"not copied: {count} row security policies")
    return notes


async def _statements(real: Connection[Record], kinds: Iterable[str]) -> list[str]:
    return [row[0] for kind in kinds for row in await real.fetch(SQL[f"make_{kind}"]) if row[0]]


async def _make(copy: Connection[Record], statements: list[str]) -> list[str]:
    """Those that failed to the end."""
    for _ in range(TRIES_AT_MOST):
        failed = []
        for statement in statements:
            try:
                await copy.execute(statement)
            except asyncpg.PostgresError:
                failed.append(statement)
        if not failed or len(failed) == len(statements):
            return failed
        statements = failed
    return statements


async def _copy_rows(real: Connection[Record], copy: Connection[Record]) -> list[str]:
    notes = []
    for schema, name in await user_tables(real):
        place = f"{quoted(schema)}.{quoted(name)}"
        within = f"SELECT count(*) FROM (SELECT FROM ONLY {place} LIMIT $1) AS found"  # noqa: S608 - quoted
        many = await real.fetchval(within, ROWS_COPIED_AT_MOST + 1)
        if many > ROWS_COPIED_AT_MOST:
            notes.append(f"rows of {name} are not copied: there are more than {ROWS_COPIED_AT_MOST:,}")
            continue
        columns = [row["name"] for row in await real.fetch(SQL["columns_to_copy"], schema, name)]
        if not many or not columns:
            continue
        rows = io.BytesIO()
        listed = ", ".join(map(quoted, columns))
        await real.copy_from_query(f"SELECT {listed} FROM ONLY {place}", output=rows)  # noqa: S608 - quoted
        rows.seek(0)
        try:
            await copy.copy_to_table(name, schema_name=schema, columns=columns, source=rows)
        except asyncpg.PostgresError as error:
            notes.append(f"rows of {name} are not copied: {error}")
    for row in await real.fetch(SQL["set_sequences"]):
        await _make(copy, [row[0]])
    return notes


async def user_tables(connection: Connection[Record]) -> list[tuple[str, str]]:
    """Without Landfast's own."""
    return [(row["schema"], row["name"]) for row in await connection.fetch(SQL["user_tables"])]


async def column_names(connection: Connection[Record], schema: str, name: str) -> list[str]:
    return [row["name"] for row in await connection.fetch(SQL["columns"], schema, name)]


async def volatile_columns(connection: Connection[Record]) -> dict[tuple[str, str], set[str]]:
    """Columns that the server numbers or fills in with something else each time, and those that refer to them."""
    found: dict[tuple[str, str], set[str]] = {}
    for row in await connection.fetch(SQL["columns_filled"]):
        found.setdefault((row["schema"], row["name"]), set()).add(row["column"])
    for row in await connection.fetch(SQL["columns_referring"]):
        if row["there"] in found.get((row["to_schema"], row["to_name"]), ()):
            found.setdefault((row["schema"], row["name"]), set()).add(row["here"])
    return found


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
