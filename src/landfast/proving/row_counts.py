"""How many rows of each table a handler inserts, updates and deletes, as its own transaction knows it.

PostgreSQL counts them for each transaction. In SQLite temporary triggers count, which are rolled back with it. Of any
other database it is not known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from landfast import sqlfiles
from landfast.thread_calls import finish

COUNTS = "landfast_rehearsal"
OURS = "landfast"
"""How Landfast's own schemas and tables are called, or begin: they are not the user's."""

SQL = sqlfiles.statements("landfast.proving")

_VERBS = ("INSERT", "UPDATE", "DELETE")


class Asking(Protocol):
    async def execute(self, query: str) -> Any: ...

    async def fetch(self, query: str) -> Sequence[Any]: ...

    async def fetchval(self, query: str) -> Any: ...

    def savepoint(self) -> Any: ...


@dataclass(frozen=True, slots=True)
class TableRows:
    table: str
    inserted: int = 0
    updated: int = 0
    deleted: int = 0


Counts = dict[str, list[int]]
"""Inserted, updated and deleted, by table."""

Counting = Callable[[Asking], Awaitable[Any]]


async def begin(tx: Asking) -> dict[str, Any]:
    """Before the handler: which database it is, and what was counted so far."""
    dialect = await _dialect(tx)
    if dialect == "sqlite":
        await _set_triggers(tx)
    return {"dialect": dialect, "counts": await _counts(tx, dialect)}


async def end(tx: Asking) -> dict[str, Any]:
    """After it. What PostgreSQL would check at COMMIT is checked now, but for our guard row, which never passes."""
    dialect = await _dialect(tx)
    if dialect == "postgresql" and (deferrable := [row[0] for row in await tx.fetch(SQL["deferrable"])]):
        await tx.execute(f"SET CONSTRAINTS {', '.join(deferrable)} IMMEDIATE")
    return {"dialect": dialect, "counts": await _counts(tx, dialect)}


def difference(before: dict[str, Any], after: dict[str, Any]) -> tuple[TableRows, ...] | None:
    """None where the database does not count."""
    if after["counts"] is None:
        return None
    found = []
    for table, counts in sorted(after["counts"].items()):
        was = (before["counts"] or {}).get(table, [0, 0, 0])
        rows = [now - then for now, then in zip(counts, was, strict=True)]
        if any(rows):
            found.append(TableRows(table, *rows))
    return tuple(found)


def as_handler(count: Counting, *, is_async: bool) -> Callable[[Any, Any], Any]:
    """A function such as the ledger runs: where it takes `def` handlers only, statements block."""

    async def wait_for(_event: Any, tx: Any) -> Any:
        return await count(tx)

    def call(_event: Any, tx: Any) -> Any:
        return finish(_in_one_go(count, _Blocking(tx)))

    return wait_for if is_async else call


async def _in_one_go(count: Counting, tx: Asking) -> Any:
    return await count(tx)


class _Blocking:
    """A BlockingTransaction in the shape of the other one."""

    def __init__(self, tx: Any) -> None:
        self._tx = tx

    async def execute(self, query: str) -> Any:
        return self._tx.execute(query)

    async def fetch(self, query: str) -> Sequence[Any]:
        rows: Sequence[Any] = self._tx.fetch(query)
        return rows

    async def fetchval(self, query: str) -> Any:
        return self._tx.fetchval(query)

    def savepoint(self) -> Any:
        return _BlockingSavepoint(self._tx.savepoint())


class _BlockingSavepoint:
    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def __aenter__(self) -> None:
        self._inner.__enter__()

    async def __aexit__(self, *error: object) -> bool:
        return bool(self._inner.__exit__(*error))


async def _dialect(tx: Asking) -> str:
    try:
        async with tx.savepoint():
            version = str(await tx.fetchval("SELECT version()"))
    except Exception:  # noqa: BLE001 - each stack has its own error for a function that is not there
        return "sqlite"
    return "postgresql" if version.startswith("PostgreSQL") else "other"


async def _counts(tx: Asking, dialect: str) -> Counts | None:
    if dialect == "postgresql":
        is_counted = str(await tx.fetchval("SELECT current_setting('track_counts')")) == "on"
        rows = await tx.fetch(SQL["rows_in_transaction"])
        return {row[0]: [row[1], row[2], row[3]] for row in rows} if is_counted else None
    if dialect == "sqlite":
        found: Counts = {}
        for row in await tx.fetch(SQL["rows_by_triggers"]):
            found.setdefault(row[0], [0, 0, 0])[_VERBS.index(row[1])] = row[2]
        return found
    return None


async def _set_triggers(tx: Asking) -> None:
    await tx.execute(f"CREATE TEMP TABLE {COUNTS} (name TEXT, verb TEXT, n INTEGER, PRIMARY KEY (name, verb))")
    rows = await tx.fetch("SELECT name, sql FROM main.sqlite_master WHERE type = 'table'")
    tables = [row[0] for row in rows if _can_be_counted(row[0], row[1] or "")]
    for number, table in enumerate(tables):
        name, text = table.replace('"', '""'), table.replace("'", "''")
        for verb in _VERBS:
            await tx.execute(f"INSERT INTO {COUNTS} VALUES ('{text}', '{verb}', 0)")  # noqa: S608 - quoted above
            add = f"UPDATE {COUNTS} SET n = n + 1 WHERE name = '{text}' AND verb = '{verb}'"  # noqa: S608 - same
            await tx.execute(
                f'CREATE TEMP TRIGGER {COUNTS}_{number}_{verb} AFTER {verb} ON main."{name}" BEGIN {add}; END'
            )


def _can_be_counted(table: str, made_by: str) -> bool:
    """A virtual table takes no triggers."""
    return not table.startswith(("sqlite_", OURS)) and not made_by.upper().startswith("CREATE VIRTUAL")
