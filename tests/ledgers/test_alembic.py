"""Alembic's autogenerate, on a database with all of Landfast's tables, finds nothing of Landfast's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Column, Connection, Index, Integer, MetaData, Table, create_engine

from landfast import Inbox
from landfast.alembic import include_name, include_object

pytestmark = pytest.mark.req("R20")

METADATA = MetaData()
Table(
    "orders", METADATA, Column("id", Integer, primary_key=True), Column("amount", Integer), Index("by_amount", "amount")
)
Table("gone", METADATA, Column("id", Integer, primary_key=True))


@pytest.fixture(params=["postgres", "sqlite"])
async def connection(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:  # type: ignore[misc]
    """To a database with the user's tables, an inbox where that fits in, and a ledger."""
    if request.param == "sqlite":
        engine = create_engine(f"sqlite:///{tmp_path / 'shop.db'}")
        store = str(tmp_path / "inbox.db")
    else:
        store = str(request.getfixturevalue("database"))
        engine = create_engine(store.replace("postgresql://", "postgresql+psycopg://"))
    await Inbox(store=store, ledger=engine).migrate()
    METADATA.create_all(engine)
    with engine.connect() as opened:
        yield opened
    engine.dispose()


def found(connection: Connection, metadata: MetaData, **options: Any) -> list[str]:
    context = MigrationContext.configure(connection, opts=options)
    return [change[0] for change in compare_metadata(context, metadata)]


@pytest.mark.parametrize("include_schemas", [False, True])
@pytest.mark.parametrize("by", ["include_name", "include_object", "both"])
async def test_autogenerate_sees_nothing_of_landfasts(connection: Connection, include_schemas: bool, by: str) -> None:
    ours = {"include_name": include_name, "include_object": include_object}
    options = ours if by == "both" else {by: ours[by]}
    assert found(connection, METADATA, include_schemas=include_schemas, **options) == []


async def test_autogenerate_still_sees_what_is_the_users_own(connection: Connection) -> None:
    other = MetaData()
    Table("orders", other, Column("id", Integer, primary_key=True), Column("amount", Integer), Column("new", Integer))
    changes = found(connection, other, include_schemas=True, include_name=include_name, include_object=include_object)
    assert sorted(changes) == ["add_column", "remove_index", "remove_table"]


async def test_without_it_autogenerate_would_drop_the_receipts(connection: Connection) -> None:
    is_sqlite = connection.dialect.name == "sqlite"
    assert "remove_table" in found(connection, METADATA, include_schemas=True)
    assert ("remove_table" in found(connection, METADATA)) is is_sqlite
