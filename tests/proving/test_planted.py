"""Each planted mistake is found at its line, and what is right passes without a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from landfast import Inbox
from landfast.proving import Report
from tests.proving import planted
from tests.servers import Postgres


@pytest.fixture
async def shop(database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Inbox:
    """On a PostgreSQL database of its own, with tables and an account."""
    monkeypatch.setenv("PLANTED", database)
    connection = await asyncpg.connect(database)
    await connection.execute(planted.SCHEMA)
    await connection.close()
    inbox = Inbox(store=str(tmp_path / "inbox.db"), ledger=database)
    inbox.source("stripe", provider="stripe", secrets=["whsec_test"])
    inbox.effect(planted.confirm)
    return inbox


def proven(inbox: Inbox, function: Callable[..., Any]) -> Report:
    type_ = "payment_intent.updated" if function in planted.REPEATS else "payment_intent.succeeded"
    inbox.on("stripe", type_)(function)
    return inbox.prove(function)


def named(function: Callable[..., Any]) -> str:
    return function.__name__


@pytest.mark.req("R64")
@pytest.mark.parametrize("mistake", planted.MISTAKES, ids=named)
async def test_a_mistake_is_found_at_its_line(shop: Inbox, mistake: Callable[..., Any]) -> None:
    report = proven(shop, mistake)
    found = {each.kind: each.place for each in report.findings}
    assert set(found) == planted.MISTAKES[mistake], str(report)
    assert {Path(place.file).name for place in found.values()} == {"planted.py"}
    assert {place.line for place in found.values()} == {planted.line_of(mistake.__name__)}, str(report)


@pytest.mark.req("R64")
@pytest.mark.parametrize("right", planted.RIGHT, ids=named)
async def test_what_is_right_passes(shop: Inbox, right: Callable[..., Any]) -> None:
    report = proven(shop, right)
    assert not report.findings, str(report)
    assert report.runs > 5


@pytest.mark.req("R64")
async def test_the_users_database_is_not_written(shop: Inbox, postgres: Postgres, database_name: str) -> None:
    """Not by handlers that write where they should not, either; and nothing is left on the server."""
    before = await everything(postgres.dsn(database_name))
    for mistake in (planted.second_connection, planted.own_session, planted.autocommit, planted.commit_inside):
        assert proven(shop, mistake).findings
    assert await everything(postgres.dsn(database_name)) == before
    assert "landfast_prove" not in postgres.execute("SELECT datname FROM pg_database")


async def everything(dsn: str) -> dict[str, list[Any]]:
    connection = await asyncpg.connect(dsn)
    try:
        names = await connection.fetch(
            "SELECT schemaname || '.' || relname AS name FROM pg_stat_user_tables ORDER BY 1"
        )
        return {row["name"]: list(await connection.fetch(f"TABLE {row['name']}")) for row in names}
    finally:
        await connection.close()
