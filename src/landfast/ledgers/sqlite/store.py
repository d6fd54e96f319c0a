"""Migrations and self-examination of a SQLite ledger. Every function here runs in a connection's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence

from landfast import sqlfiles
from landfast.ledgers import schema
from landfast.ledgers.sqlite import rows

MIGRATIONS = sqlfiles.migrations("landfast.ledgers.sqlite")


def migrate(connection: sqlite3.Connection, name: str) -> Sequence[str]:
    """All that is missing, in one transaction: crash anywhere, and the schema is the old one."""
    connection.execute("BEGIN EXCLUSIVE")
    try:
        connection.execute(rows.SQL["migrations"])
        missing = sqlfiles.missing(MIGRATIONS, _applied(connection))
        applied = [_apply(connection, migration) for migration in missing]
        connection.execute(rows.SQL["name_draw"], {"name": name})
        connection.execute("COMMIT")
    except BaseException:
        rows.roll_back(connection)
        raise
    return applied


def examine(connection: sqlite3.Connection) -> tuple[list[str], list[str]]:
    """What makes the tables unsafe, and what is wrong with them besides."""
    called = schema.beside_others
    columns = {
        noun: connection.execute(rows.SQL["columns"], {"relation": called(noun)}).fetchall() for noun in schema.COLUMNS
    }
    tables = {noun: frozenset(row["name"] for row in each) for noun, each in columns.items()}
    hazards, others = schema.missing(tables, called), schema.added(tables, called)
    if columns["receipt"]:
        applied = _applied(connection)
        hazards += schema.key_problems(frozenset(row["name"] for row in columns["receipt"] if row["pk"]), called)
        hazards += sqlfiles.behind("ledger", MIGRATIONS, applied)
        others += sqlfiles.newer("ledger", MIGRATIONS, applied)
    return hazards, others


def unsafe_settings(connection: sqlite3.Connection) -> list[str]:
    """Of this connection: each has its own."""
    return [sentence for pragma, wanted, sentence in _SETTINGS if _pragma(connection, pragma) != wanted]


_SETTINGS: Sequence[tuple[str, object, str]] = (
    ("journal_mode", "wal", "ledger: the file is not in WAL mode; keep it on a local disk, where WAL works"),
    ("synchronous", 2, "ledger: synchronous is not FULL, so a power cut could undo a COMMIT; do not change it"),
    ("foreign_keys", 1, "ledger: this SQLite was built without foreign keys, so the guard row guards nothing"),
)


def _applied(connection: sqlite3.Connection) -> frozenset[int]:
    return frozenset(row["number"] for row in connection.execute(rows.SQL["migrations_applied"]))


def _apply(connection: sqlite3.Connection, migration: sqlfiles.Migration) -> str:
    with migration.applying("ledger", sqlite3.OperationalError):
        for statement in _split(migration.sql):
            connection.execute(statement)
    connection.execute(rows.SQL["migrations_add"], {"number": migration.number, "name": migration.name})
    return migration.label


def _split(script: str) -> Iterator[str]:
    # Not executescript: it would commit what we began.
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _pragma(connection: sqlite3.Connection, name: str) -> object:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return value
