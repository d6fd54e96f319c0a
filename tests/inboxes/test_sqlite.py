"""The SQLite inbox: everything that every inbox does, its opening, its schema and its listings."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from landfast import own_thread, sqlfiles
from landfast.domain.errors import ConfigError, InboxUnavailableError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import audit as audit_module
from landfast.inboxes.sqlite import find as find_module
from landfast.inboxes.sqlite import work as work_module
from landfast.sqlfiles import Migration
from landfast.testing.conformance.inbox import InboxConformance
from landfast.testing.factory import deliveries, delivery, settlement, token
from tests.inboxes.sqlite_bench import SqliteBench, by_hand, closed_inbox
from tests.patience import PATIENCE_SECONDS

ALL = [f"{one.number:04}_{one.name}" for one in sqlfiles.migrations("landfast.inboxes.sqlite")]


class TestSqlite(InboxConformance):
    """Every sentence of the ports."""


class TestOpening:
    async def test_a_missing_folder_is_named_with_the_setting(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"store: the folder .*nowhere does not exist; .*LANDFAST_STORE"):
            await closed_inbox(tmp_path / "nowhere" / "inbox.db").open()

    async def test_a_file_that_is_no_database_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        path = tmp_path / "notes.txt"
        path.write_bytes(b"These are my notes, and no database. " * 100)
        with pytest.raises(ConfigError, match=r"store: .*notes.txt is not a SQLite database"):
            await closed_inbox(path).open()
        assert path.read_bytes().startswith(b"These are my notes")

    async def test_a_path_that_cannot_be_opened_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "inbox.db").mkdir()
        with pytest.raises(ConfigError, match=r"store: .*inbox.db cannot be opened"):
            await closed_inbox(tmp_path / "inbox.db").open()

    async def test_a_schema_that_is_newer_than_ours_is_refused(self, bench: SqliteBench) -> None:
        by_hand(bench.path, "PRAGMA user_version = 99")
        with pytest.raises(ConfigError, match=rf"schema 99 and this Landfast knows {len(ALL)}; upgrade"):
            await bench.another()

    async def test_what_is_not_open_is_unavailable(self, bench: SqliteBench) -> None:
        await bench.inbox.close()
        with pytest.raises(InboxUnavailableError, match="not open"):
            await bench.inbox.record([delivery()])

    async def test_no_thread_outlives_an_inbox_or_an_open_that_failed(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(own_thread, "STOP_WITHIN_SECONDS", PATIENCE_SECONDS)
        before = set(threading.enumerate())
        inbox = closed_inbox(tmp_path / "inbox.db")
        await inbox.open()
        assert not set(threading.enumerate()) <= before
        await inbox.close()
        with pytest.raises(ConfigError):
            await closed_inbox(tmp_path / "nowhere" / "inbox.db").open()
        assert set(threading.enumerate()) <= before  # one of another test's may have ended meanwhile


class TestMigrating:
    async def test_an_inbox_that_was_not_migrated_says_so_and_takes_nothing(self, tmp_path: Path) -> None:
        inbox = closed_inbox(tmp_path / "inbox.db")
        await inbox.open()
        assert list(await inbox.problems()) == [
            f"store: the schema is behind by {len(ALL)} migrations; run landfast migrate"
        ]
        with pytest.raises(InboxUnavailableError, match="no such table"):
            await inbox.record([delivery()])
        assert list(await inbox.migrate()) == ALL
        assert (await inbox.record([delivery()]))[0].is_new
        await inbox.close()

    async def test_two_that_migrate_at_once_apply_each_migration_once(self, tmp_path: Path) -> None:
        inboxes = [closed_inbox(tmp_path / "inbox.db") for _ in range(2)]
        for inbox in inboxes:
            await inbox.open()
        applied = await asyncio.gather(*(inbox.migrate() for inbox in inboxes))
        assert sorted(map(list, applied)) == [[], ALL]
        for inbox in inboxes:
            await inbox.close()

    async def test_a_migration_that_fails_is_named_and_changes_nothing(
        self, bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        broken = Migration(len(ALL) + 1, "broken", "CREATE TABLE half (x); ALTER TABLE nowhere ADD COLUMN x;")
        ours = sqlfiles.migrations("landfast.inboxes.sqlite")
        monkeypatch.setattr(sqlfiles, "migrations", lambda package: [*ours, broken])
        with pytest.raises(
            ConfigError, match=r"the migration \d{4}_broken failed \(.*nowhere.*\); the schema is as it was"
        ):
            await bench.inbox.migrate()
        assert not by_hand(bench.path, "SELECT 1 FROM sqlite_schema WHERE name = 'half'")
        monkeypatch.undo()
        assert list(await bench.inbox.problems()) == []

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            ("DROP INDEX history_by_event", "not the one that Landfast made"),
            ("ALTER TABLE work RENAME COLUMN lane TO track", "not the one that Landfast made"),
            ("DROP TABLE identity; CREATE TABLE identity (event_id, received_at, seq)", "lost the unique constraint"),
            ("DROP VIEW summary; DROP TABLE shelf; CREATE TABLE shelf (event_id)", "table shelf has lost the unique"),
            ("DROP VIEW summary; DROP TABLE meta", "schema is broken: no such table"),
        ],
    )
    async def test_a_schema_that_was_changed_by_hand_is_a_problem(
        self, bench: SqliteBench, change: str, problem: str
    ) -> None:
        by_hand(bench.path, change)
        assert any(problem in sentence for sentence in await bench.inbox.problems())


class TestRecording:
    """A batch is taken for new as a whole first; where it is not, it is rolled back and recorded event by event."""

    async def test_whatever_mix_of_new_and_known_ones_each_is_told_apart_and_stored_once(
        self, bench: SqliteBench
    ) -> None:
        events = deliveries(12)
        batches = [events[:4], events[2:6], events[6:8], events[:8], [*events[8:10], events[8]], events[10:]]
        told = [[row.is_new for row in await bench.inbox.record(batch)] for batch in batches]
        assert told == [
            [True] * 4,
            [False, False, True, True],
            [True, True],
            [False] * 8,
            [True, True, False],
            [True, True],
        ]
        for table in ("identity", "body", "work"):
            assert by_hand(bench.path, f"SELECT count(*), count(DISTINCT event_id) FROM {table}") == [(12, 12)]
        assert by_hand(bench.path, "SELECT sum(stored) FROM counted") == [(12,)]
        assert by_hand(bench.path, "SELECT count(*) FROM identity JOIN body USING (event_id, seq)") == [(12,)]


class TestWindows:
    async def test_listings_cross_their_windows(self, bench: SqliteBench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(find_module, "WINDOW", 3)
        batch = [delivery(f"evt_{n:02}", type="odd" if n % 2 else "even") for n in range(20)]
        await bench.inbox.record(batch)
        assert {one.key for one in await bench.inbox.find(Filter(type="odd"), limit=100)} == {
            what.key for what in batch if what.type == "odd"
        }
        assert len(await bench.inbox.find(Filter(type="even"), limit=7)) == 7
        assert await bench.inbox.count(Filter(type="even"), at_most=100) == 10
        held = await bench.inbox.claim(token=token(1), lease=30, limit=20)
        await bench.inbox.settle([settlement(one, Signal.FINISH) for one in held])
        chunks = [chunk async for chunk in bench.inbox.walk_done(Filter(type="odd"), chunk=4)]
        assert [len(chunk) for chunk in chunks] == [4, 4, 2]
        assert len({one.key for chunk in chunks for one in chunk}) == 10

    async def test_a_recount_crosses_its_chunks(self, bench: SqliteBench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(audit_module, "RECOUNTED_AT_ONCE", 5)
        await bench.inbox.record(deliveries(12))
        assert [dict(chunk) async for chunk in bench.inbox.recount()] == [{State.READY: n} for n in (5, 5, 2)]

    async def test_an_event_that_is_nowhere_breaks_the_equation_of_the_census(self, bench: SqliteBench) -> None:
        await bench.inbox.record(deliveries(3))
        by_hand(bench.path, "DELETE FROM work WHERE seq = 2")
        census = await bench.inbox.census()
        assert (census.events, sum(census.states.values())) == (3, 2)

    async def test_a_claim_wakes_a_limited_number_and_the_next_goes_on(
        self, bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(work_module, "WOKEN_AT_ONCE", 2)
        await bench.inbox.record(deliveries(5))
        held = await bench.inbox.claim(token=token(1), lease=30, limit=5)
        await bench.inbox.settle([settlement(one, Signal.RETRY) for one in held])
        woken = [len(await bench.inbox.claim(token=token(n), lease=30, limit=9)) for n in range(2, 6)]
        assert woken == [2, 2, 1, 0]
