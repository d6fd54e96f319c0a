"""What a connection need not ask the server again."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from landfast import postgres_types, sqlfiles
from landfast.postgres_types import ARRAYS, KnowingConnection
from tests.servers import Postgres

SOME = "SELECT $1::bytea[] AS a, $2::integer[] AS b, $3::timestamptz[] AS c"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[set[int]]:
    """The types that asyncpg asked the server for."""
    asks = asyncpg.Connection._introspect_types  # type: ignore[attr-defined]
    found: list[set[int]] = []

    async def ask(self: Any, typeoids: Collection[int], *how: Any) -> Any:
        found.append(set(typeoids))
        return await asks(self, typeoids, *how)

    monkeypatch.setattr(asyncpg.Connection, "_introspect_types", ask)
    monkeypatch.setattr(postgres_types, "_known", [])
    return found


async def test_arrays_are_asked_for_by_the_first_connection_only(database: str, asked: list[set[int]]) -> None:
    values = [b"x", b""], [1, 2], [datetime(2026, 1, 1, tzinfo=UTC)]
    for statements in (100, 0, 100):  # without a cache each statement is prepared anew, as behind PgBouncer
        connection = await _connected(database, statements)
        assert await connection.fetchval("SELECT $1::float8[]", [0.5]) == [0.5]
        for _ in range(2):
            assert tuple(await connection.fetchrow(SOME, *values)) == values
        await connection.close()
    assert asked == [ARRAYS]


def test_they_are_the_arrays_of_our_statements(postgres: Postgres) -> None:
    found = set[str]()
    for package in ("landfast.inboxes.postgres", "landfast.ledgers.postgres"):
        for statement in sqlfiles.statements(package).values():
            found.update(re.findall(r"::([a-z0-9 ]+\[\])", statement))
    numbers = ", ".join(f"'{name}'::regtype::oid" for name in sorted(found - {"text[]"}))
    assert {int(number) for number in postgres.execute(f"SELECT unnest(ARRAY[{numbers}])").split()} == ARRAYS


async def test_a_type_of_the_users_own_is_asked_for_in_each_connection(database: str, asked: list[set[int]]) -> None:
    # In another database, or after it was made anew, the same number may be another type.
    for labels in ("'red', 'green'", "'one', 'two'"):
        connection = await _connected(database, 100)
        await connection.execute(f"DROP TYPE IF EXISTS hue; CREATE TYPE hue AS ENUM ({labels})")
        first = labels.split("'")[1]
        assert await connection.fetchval("SELECT $1::hue[]", [first]) == [first]
        await connection.close()
    assert len(asked) == 2


async def _connected(dsn: str, statements: int) -> Any:
    return await asyncpg.connect(dsn, connection_class=KnowingConnection, statement_cache_size=statements)
