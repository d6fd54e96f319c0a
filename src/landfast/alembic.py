"""Keeps Landfast's tables out of Alembic's sight: autogenerate would otherwise propose to drop the receipts.

    from landfast.alembic import include_name, include_object

    context.configure(..., include_name=include_name, include_object=include_object)

Where you have such functions already, call these in yours: what they refuse is Landfast's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.ledgers.schema import COLUMNS, SCHEMA, beside_others

SCHEMAS = frozenset({"landfast", SCHEMA})
"""On PostgreSQL: of the inbox, and of the ledger."""

TABLES = frozenset(map(beside_others, (*COLUMNS, "migration")))
"""Of the ledger on SQLite, and on PostgreSQL before it had a schema of its own."""


def include_name(name: str | None, type_: str, parent_names: Mapping[str, str | None]) -> bool:
    """For `include_name` of Alembic's `context.configure`: what is refused is not even read from the database."""
    if type_ == "schema":
        return name not in SCHEMAS
    return not _is_ours(parent_names.get("schema_name"), name if type_ == "table" else parent_names.get("table_name"))


def include_object(object_: Any, name: str | None, type_: str, _reflected: object, _compare_to: object) -> bool:
    """For `include_object` of Alembic's `context.configure`."""
    table = object_ if type_ == "table" else getattr(object_, "table", None)
    if table is None:
        return True
    return not _is_ours(getattr(table, "schema", None), name if type_ == "table" else getattr(table, "name", None))


def _is_ours(schema: str | None, table: str | None) -> bool:
    return schema in SCHEMAS or table in TABLES
