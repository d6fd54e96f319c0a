"""Writes that can be made twice: insert once, set if different, move along legal transitions; and what came of each.

    from landfast import sql

    if await sql.insert_once(tx, "orders", {"payment_id": payment, "amount": 8999}, key="payment_id"):
        ...                                       # it was not there

The first argument is what a handler is given, of any ledger: `tx`, a SQLAlchemy session or connection, a psycopg or
asyncpg connection, Django's, sqlite3's. Where that is awaited, so are these. Names are those that the database has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from landfast.sql import statements
from landfast.sql.kinds import carried_out
from landfast.sql.outcome import Outcome

__all__ = ["Outcome", "insert_once", "set_if_different", "transition"]


def insert_once(tx: Any, table: str, values: Mapping[str, Any], *, key: str | Sequence[str]) -> Any:
    """Insert the row unless one with the same `key` is there, which a unique index must be on: `inserted` or
    `was there`. The row that is there stays as it is."""
    columns = [key] if isinstance(key, str) else list(key)
    return carried_out(tx, "insert_once", lambda dialect: statements.insert_once(dialect, table, values, columns))


def set_if_different(tx: Any, table: str, values: Mapping[str, Any], *, where: Mapping[str, Any]) -> Any:
    """Set these columns of the row that `where` finds, if one of them has another value: `changed`, `same` or
    `missing`. Triggers and replicas see nothing of a write that changes nothing."""
    return carried_out(
        tx, "set_if_different", lambda dialect: statements.set_if_different(dialect, table, values, where)
    )


def transition(
    tx: Any,
    table: str,
    *,
    where: Mapping[str, Any],
    to: Any,
    allowed_from: Iterable[Any],
    column: str = "state",
    values: Mapping[str, Any] | None = None,
) -> Any:
    """Set the `column` of the row that `where` finds to the state `to`, and `values` with it, if its state is one of
    `allowed_from`: `moved`; `same` where it is there already, `illegal` with the state that it has, or `missing`."""
    asked = (table, column, to, tuple(allowed_from), where, values or {})
    return carried_out(tx, "transition", lambda dialect: statements.transition(dialect, *asked))
