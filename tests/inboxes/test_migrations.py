"""An inbox of an earlier Landfast, with rows in every table, is brought up to date and keeps them all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import asyncpg
import pytest

from landfast import sqlfiles
from landfast.domain.census import SourceTally
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Tries
from landfast.inboxes.postgres import housekeeping
from landfast.inboxes.postgres import rows as postgres_rows
from landfast.inboxes.postgres.statements import MIGRATIONS
from landfast.inboxes.sqlite import rows as sqlite_rows
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import claim, look
from landfast.testing.factory import DELAY, deliveries, delivery
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

TABLES = ("identity", "body", "work", "shelf", "history", "boot", "tally", "redelivery")
FIRST_ROWS = Path(__file__)
"""Beside it, for each store: what the first Landfast left. Its own statements, too, have changed since."""
RENAMED = {"shelve": "no_handler"}
"""Signals that have another name since then."""
FIRST_STATES = [State.DONE, State.DEAD, State.UNHANDLED, State.DELAYED, State.CLAIMED, State.READY]
"""Those that the first schema knew."""


class Old(Protocol):
    """A bench whose inbox has the schema and the rows of the first Landfast."""

    @property
    def inbox(self) -> Inbox: ...

    async def advance(self, seconds: float) -> None: ...

    async def rows(self, table: str) -> Sequence[dict[str, Any]]: ...


class OldSqlite(SqliteBench):
    async def fill(self) -> None:
        by_hand(self.path, FIRST_ROWS.with_name("first_sqlite.sql").read_text())

    async def rows(self, table: str) -> Sequence[dict[str, Any]]:
        columns = [name for _, name, *_ in by_hand(self.path, f"PRAGMA table_xinfo({table})")]
        return [dict(zip(columns, row, strict=True)) for row in by_hand(self.path, f"SELECT * FROM {table}")]


class OldPostgres(PostgresBench):
    async def fill(self) -> None:
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(FIRST_ROWS.with_name("first_postgres.sql").read_text())
        finally:
            await connection.close()

    async def rows(self, table: str) -> Sequence[dict[str, Any]]:
        return [json.loads(row) for row in await self.fetch(f"SELECT to_jsonb(t)::text FROM landfast.{table} AS t")]


async def migrated_so_far(request: pytest.FixtureRequest, sqlite: int, postgres: int) -> OldSqlite | OldPostgres:
    """An inbox of the fixture's kind, with so many migrations and no more."""
    bench: OldSqlite | OldPostgres
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "sqlite":
            first = sqlfiles.migrations("landfast.inboxes.sqlite")[:sqlite]
            patch.setattr(sqlfiles, "migrations", lambda _package: first)
            bench = OldSqlite(request.getfixturevalue("tmp_path") / "inbox.db")
        else:
            patch.setattr(housekeeping, "MIGRATIONS", MIGRATIONS[:postgres])
            bench = OldPostgres(request.getfixturevalue("database"))
        await bench.inbox.open()
        assert len(await bench.inbox.migrate()) == (sqlite if request.param == "sqlite" else postgres)
    return bench


@pytest.fixture(params=["sqlite", "postgres"])
async def old(request: pytest.FixtureRequest) -> AsyncIterator[OldSqlite | OldPostgres]:
    bench = await migrated_so_far(request, sqlite=1, postgres=1)
    await bench.fill()
    yield bench
    await bench.close()


async def test_everything_that_was_stored_is_there_after_the_migration(old: Old) -> None:
    before = {table: await old.rows(table) for table in TABLES}
    assert all(before.values()), before
    identity = await old.inbox.identity()
    assert "behind" in " ".join(await old.inbox.problems())

    known = sqlfiles.migrations("landfast.inboxes.sqlite") if isinstance(old, OldSqlite) else MIGRATIONS
    assert [name[:4] for name in await old.inbox.migrate()] == [f"{one.number:04}" for one in known[1:]]

    for table, rows in before.items():
        told = [row | {"signal": RENAMED.get(row["signal"], row["signal"])} if "signal" in row else row for row in rows]
        assert _ordered(_same_columns(await old.rows(table), as_in=rows[0])) == _ordered(told), table
    records = [await look(old.inbox, what.event_id) for what in deliveries(6)]
    assert [record.summary.state for record in records] == FIRST_STATES
    assert [record.body for record in records] == [what.body for what in deliveries(6)]
    assert [len(record.history) for record in records] == [1, 1, 1, 1, 0, 1]
    assert await old.inbox.identity() == identity
    assert await old.inbox.epoch() == bytes(4)
    assert len(await old.inbox.mac_key()) == 32
    assert list(await old.inbox.problems()) == []
    assert list(await old.inbox.migrate()) == []


async def test_what_waited_before_the_migration_has_its_type_and_its_count(old: Old) -> None:
    await old.inbox.migrate()
    assert [row["type"] for table in ("work", "shelf") for row in await old.rows(table)] == ["order.created"] * 5
    assert await old.rows("unhandled_count") == [{"source": "shop", "type": "order.created", "n": 1}]


async def test_what_waited_before_the_migration_goes_on_after_it(old: Old) -> None:
    await old.inbox.migrate()
    census = await old.inbox.census()
    assert (census.events, dict(census.states)) == (6, dict.fromkeys(FIRST_STATES, 1))
    assert (dict(census.tallies), dict(census.meters)) == ({"shop": SourceTally(9, 6, 3)}, {})
    await old.advance(DELAY + 1)
    assert {one.key for one in await claim(old.inbox, 50, limit=10)} == {"evt_0003", "evt_0005"}
    assert not (await old.inbox.record([delivery("evt_0000")]))[0].is_new


@pytest.mark.parametrize("read", [sqlite_rows.tries, lambda text: postgres_rows.tries(text.encode())])
def test_tries_that_an_earlier_or_a_later_landfast_stored_can_be_read(read: Callable[[str], Any]) -> None:
    """The later one while a deployment is under way."""
    assert read('{"mail":{"count":2,"spent":1.5,"due":null,"of_tomorrow":1}}') == {"mail": Tries(2, 1.5)}


@pytest.fixture(params=["sqlite", "postgres"])
async def uncertain(request: pytest.FixtureRequest) -> AsyncIterator[OldSqlite | OldPostgres]:
    """From before it was noted up to where a source is compared, with one that a run by hand may have left a gap in."""
    bench = await migrated_so_far(request, sqlite=21, postgres=26)
    if isinstance(bench, OldSqlite):
        by_hand(bench.path, "INSERT INTO reconciliation (source, begun_at, since, ended_at) VALUES ('shop', 9, 8, 9)")
    else:
        moments = "('shop', now(), now() - interval '1 hour', now())"
        await bench.fetch(
            f"INSERT INTO landfast.reconciliation (source, begun_at, since, ended_at) VALUES {moments} RETURNING 1"
        )
    yield bench
    await bench.close()


async def test_of_a_source_that_was_compared_before_nobody_says_up_to_where(uncertain: Old) -> None:
    (before,) = await uncertain.rows("reconciliation")
    assert "0022_compared_until" in (names := await uncertain.inbox.migrate()) or "0027_compared_until" in names
    (found,) = await uncertain.rows("reconciliation")
    assert _same_columns([found], as_in=before) == [before]
    (known,) = await uncertain.inbox.reconciliations()
    assert (known.source, known.ended_at is None, known.compared_until) == ("shop", False, None)


def _same_columns(rows: Sequence[dict[str, Any]], *, as_in: dict[str, Any]) -> list[dict[str, Any]]:
    """A later migration may add a column, and must take none away."""
    return [{name: row[name] for name in as_in} for row in rows]


def _ordered(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=repr)
