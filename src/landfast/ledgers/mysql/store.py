"""Migrating and examining a MySQL ledger."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pymysql

from landfast import sqlfiles
from landfast.domain.errors import ConfigError, LedgerUnavailableError
from landfast.ledgers import schema
from landfast.ledgers.mysql import rows
from landfast.ledgers.mysql.statements import BlockingStatements, Statements
from landfast.thread_calls import finish

MIGRATIONS = sqlfiles.migrations("landfast.ledgers.mysql")

OLDEST_VERSIONS = {"MySQL": (8, 0), "MariaDB": (10, 6)}
"""The first with SKIP LOCKED, without which two workers that claim effects would wait for each other."""

MIGRATES_WITHIN_SECONDS = 30
"""For another process that migrates the same database."""

SCRUB_WAIT_SECONDS = 5
"""For handlers that are at work: a table is rebuilt only when nobody is in it."""

COLUMNS = {noun: columns for noun, columns in schema.COLUMNS.items() if noun not in {"guard", "never"}}
"""There is no guard row: the server itself refuses to end an XA transaction by COMMIT."""

_SPLIT = re.compile(r";\s*(?:\n|\Z)")
_COMMENT = re.compile(r"--[^\n]*\n")


def refuse(problems: Sequence[str], named: str) -> None:
    for problem in problems:
        raise ConfigError(f"{named}: {problem}")


def unfit(connection: Any) -> list[str]:
    """In a thread: why this server cannot keep our promise."""
    statements = BlockingStatements(connection)
    settings = finish(_settings(statements))
    return [*_too_old(settings), *_clustered(settings), *_without_xa(statements), *_unsafe(settings)]


def migrate(connection: Any, name: str) -> Sequence[str]:
    """In a thread. MySQL commits at each CREATE TABLE: crash anywhere, and the rest is made the next time. Each
    statement of a migration can therefore be run again."""
    statements = BlockingStatements(connection)
    (lock,) = finish(statements.fetch(rows.SQL["migrations_lock"], {"seconds": MIGRATES_WITHIN_SECONDS}))
    if lock["taken"] != 1:
        raise LedgerUnavailableError("ledger: another process migrates this database; try again when it is done")
    try:
        finish(statements.execute(rows.SQL["migrations"]))
        missing = sqlfiles.missing(MIGRATIONS, finish(_applied(statements)))
        done = [_apply(statements, migration) for migration in missing]
        finish(statements.execute(rows.SQL["name_draw"], {"name": name}))
    finally:
        finish(statements.fetch(rows.SQL["migrations_unlock"]))
    return done


def scrub(connection: Any) -> bool:
    """In a thread. A rebuilt table is another file, and in it is only what is still there."""
    statements = BlockingStatements(connection)
    finish(statements.execute(f"SET SESSION lock_wait_timeout = {SCRUB_WAIT_SECONDS}"))
    for noun in ("effect", "receipt"):
        finish(statements.execute(f"ALTER TABLE {schema.beside_others(noun)} FORCE"))
    return True


async def examine(statements: Statements) -> tuple[list[str], list[str]]:
    """What makes it unsafe, and what is wrong besides."""
    called = schema.beside_others
    columns = await statements.fetch(rows.SQL["columns"])
    tables = {noun: frozenset(str(row["name"]) for row in columns if row["table"] == called(noun)) for noun in COLUMNS}
    hazards = schema.missing(tables, called, COLUMNS)
    others = schema.added(tables, called, COLUMNS)
    if tables["receipt"]:
        key = frozenset(str(row["name"]) for row in columns if row["table"] == called("receipt") and row["key"])
        applied = await _applied(statements)
        hazards += schema.key_problems(key, called)
        hazards += sqlfiles.behind("ledger", MIGRATIONS, applied)
        others += sqlfiles.newer("ledger", MIGRATIONS, applied)
    hazards += [
        f"ledger: the engine of {table} is {engine}, which cannot roll back; ALTER TABLE {table} ENGINE = InnoDB"
        for table, engine in sorted({(str(row["table"]), str(row["engine"])) for row in columns})
        if engine.lower() != "innodb"
    ]
    settings = await _settings(statements)
    return hazards + [f"ledger: {problem}" for problem in _unsafe(settings)], others


async def cautions(statements: Statements) -> list[str]:
    found = await statements.fetch(rows.SQL["tables_elsewhere"])
    return [
        f"ledger: the engine of your table {row['name']} is {row['engine']}, which does not roll back: what a handler"
        f" writes there stays when its attempt fails; ALTER TABLE {row['name']} ENGINE = InnoDB"
        for row in found
    ]


async def _settings(statements: Statements) -> dict[str, str]:
    return {
        str(row["Variable_name"]).lower(): str(row["Value"]) for row in await statements.fetch(rows.SQL["durability"])
    }


def _too_old(settings: dict[str, str]) -> list[str]:
    version = settings.get("version", "")
    kind = "MariaDB" if "mariadb" in version.lower() else "MySQL"
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    oldest = OLDEST_VERSIONS[kind]
    if numbers >= oldest:
        return []
    return [f"use {kind} {oldest[0]}.{oldest[1]} or newer; this one is {version}"]


def _clustered(settings: dict[str, str]) -> list[str]:
    if settings.get("wsrep_on", "OFF") != "ON":
        return []
    sentence = (
        "this server is a node of a Galera cluster, which takes no XA transactions, and those are what keeps a handler"
        " from committing half of its work; keep the ledger on a server of its own"
    )
    return [sentence]


def _without_xa(statements: Statements) -> list[str]:
    try:
        for statement in ("XA START 'landfast probe'", "XA END 'landfast probe'", "XA ROLLBACK 'landfast probe'"):
            finish(statements.execute(statement))
    except pymysql.err.MySQLError as error:
        return [f"the server takes no XA transactions ({error.args[-1]}), and Landfast needs them; use another server"]
    return []


def _unsafe(settings: dict[str, str]) -> list[str]:
    """One sentence for each setting with which a crash could undo a COMMIT."""
    has_binlog = settings.get("log_bin") == "ON"
    wanted = {
        "innodb_flush_log_at_trx_commit": settings.get("innodb_flush_log_at_trx_commit") == "1",
        "innodb_doublewrite": settings.get("innodb_doublewrite", "ON") not in {"OFF", "0"},
        "innodb_flush_method": settings.get("innodb_flush_method", "") not in {"nosync", "littlesync"},
        # After a crash the server rolls back what is not in its binary log.
        "sync_binlog": not has_binlog or settings.get("sync_binlog") == "1",
    }
    unsafe = [
        f"the server runs with {name} = {settings.get(name)}, so a crash could undo a COMMIT; {_FIXES[name]},"
        " or, where a managed service does not let you, use another server"
        for name, is_safe in wanted.items()
        if not is_safe
    ]
    if has_binlog and settings.get("binlog_format") == "STATEMENT":
        unsafe.append(
            "the server runs with binlog_format = STATEMENT, which refuses writes under READ COMMITTED;"
            " set it to ROW or MIXED"
        )
    return unsafe


_FIXES = {
    "innodb_flush_log_at_trx_commit": "set it to 1",
    "innodb_doublewrite": "set it to ON",
    "innodb_flush_method": "set it to fsync or O_DIRECT",
    "sync_binlog": "set it to 1",
}


async def _applied(statements: Statements) -> frozenset[int]:
    return frozenset(row["number"] for row in await statements.fetch(rows.SQL["migrations_applied"]))


def _apply(statements: Statements, migration: sqlfiles.Migration) -> str:
    try:
        for statement in _statements(migration.sql):
            finish(statements.execute(statement))
    except pymysql.err.MySQLError as error:
        raise ConfigError(
            f"ledger: the migration {migration.label} failed ({error.args[-1]}); what it did before stays, and is done"
            " again without harm: mend the cause, and run landfast migrate"
        ) from error
    finish(statements.execute(rows.SQL["migrations_add"], {"number": migration.number, "name": migration.name}))
    return migration.label


def _statements(script: str) -> Iterator[str]:
    for statement in _SPLIT.split(_COMMENT.sub("\n", script)):
        if statement.strip():
            yield statement.strip()
