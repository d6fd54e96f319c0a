"""An inbox of an earlier Landfast, with rows in every table, is brought up to date and keeps them all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import pytest

from landfast import sqlfiles
from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.ids import BootId
from landfast.domain.lifecycle import State
from landfast.domain.summary import EventRecord
from landfast.inboxes.postgres import housekeeping
from landfast.inboxes.postgres.statements import MIGRATIONS
from landfast.testing.conformance.inbox.bench import DrivenInbox, claim, look
from landfast.testing.factory import DELAY, deliveries, delivery, event_in
from tests.inboxes.postgres_bench import PostgresBench
from tests.inboxes.sqlite_bench import SqliteBench, by_hand

TABLES = ("identity", "body", "work", "shelf", "history", "boot", "tally", "redelivery")
FIRST_STATES = [State.DONE, State.DEAD, State.UNHANDLED, State.DELAYED, State.CLAIMED, State.READY]
"""Those that the first schema knew."""


class Old(Protocol):
    """A bench whose inbox has the schema of the first migration only."""

    @property
    def inbox(self) -> DrivenInbox: ...

    async def advance(self, seconds: float) -> None: ...

    async def rows(self, table: str) -> Sequence[Any]: ...


class OldSqlite(SqliteBench):
    async def rows(self, table: str) -> Sequence[Any]:
        return sorted(by_hand(self.path, f"SELECT * FROM {table}"), key=repr)


class OldPostgres(PostgresBench):
    async def rows(self, table: str) -> Sequence[Any]:
        return sorted(await self.fetch(f"SELECT to_jsonb(t)::text FROM landfast.{table} AS t"))


@pytest.fixture(params=["sqlite", "postgres"])
async def old(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[OldSqlite | OldPostgres]:
    with monkeypatch.context() as patch:
        bench: OldSqlite | OldPostgres
        if request.param == "sqlite":
            first = sqlfiles.migrations("landfast.inboxes.sqlite")[:1]
            patch.setattr(sqlfiles, "migrations", lambda _package: first)
            bench = OldSqlite(tmp_path / "inbox.db")
        else:
            patch.setattr(housekeeping, "MIGRATIONS", MIGRATIONS[:1])
            bench = OldPostgres(request.getfixturevalue("database"))
        await bench.inbox.open()
        assert list(await bench.inbox.migrate()) == ["0001_inbox"]
    yield bench
    await bench.close()


async def test_everything_that_was_stored_is_there_after_the_migration(old: Old) -> None:
    before = await _fill(old.inbox)
    rows = {table: await old.rows(table) for table in TABLES}
    assert all(rows.values()), rows
    identity = await old.inbox.identity()
    assert "behind" in " ".join(await old.inbox.problems())

    assert list(await old.inbox.migrate()) == ["0002_layers"]

    assert {table: await old.rows(table) for table in TABLES} == rows
    assert [await look(old.inbox, record.summary.event_id) for record in before] == before
    assert (await old.inbox.identity(), await old.inbox.bound_ledger()) == (identity, "ledger")
    assert await old.inbox.epoch() == bytes(4)
    assert list(await old.inbox.problems()) == []
    assert list(await old.inbox.migrate()) == []


async def test_what_waited_before_the_migration_goes_on_after_it(old: Old) -> None:
    await _fill(old.inbox)
    await old.inbox.migrate()
    census = await old.inbox.census()
    assert (census.events, dict(census.states)) == (6, dict.fromkeys(FIRST_STATES, 1))
    assert (dict(census.tallies), dict(census.meters)) == ({"shop": SourceTally(9, 6, 3)}, {})
    await old.advance(DELAY + 1)
    assert {one.key for one in await claim(old.inbox, 50, limit=10)} == {"evt_0003", "evt_0005"}
    assert not (await old.inbox.record([delivery("evt_0000")]))[0].is_new


async def _fill(inbox: DrivenInbox) -> list[EventRecord]:
    """One event in each state and a row in each table; the events as they are shown."""
    for number, (state, what) in enumerate(zip(FIRST_STATES, deliveries(6), strict=True)):
        await event_in(inbox, state, what, number=number)
    again = {deliveries(6)[0].event_id: 3}
    await inbox.tally(TallyReport(BootId(b"boot---1"), {"shop": SourceTally(9, 6, 3)}, again, ended=True))
    await inbox.bind_ledger("ledger")
    return [await look(inbox, what.event_id) for what in deliveries(6)]
