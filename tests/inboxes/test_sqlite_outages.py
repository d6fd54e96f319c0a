"""The SQLite inbox when its file, its disk or its process fails."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import pytest

from landfast.domain.errors import InboxUnavailableError
from landfast.domain.filter import Filter
from landfast.domain.lifecycle import Signal, State
from landfast.inboxes.sqlite import connection as connection_module
from landfast.inboxes.sqlite import thread as thread_module
from landfast.testing.factory import deliveries, delivery, settlement, token
from tests.inboxes.sqlite_bench import SqliteBench, by_hand, closed_inbox


class TestOutage:
    async def test_a_file_that_was_moved_away_acknowledges_nothing_until_it_is_back(self, bench: SqliteBench) -> None:
        await bench.inbox.record([delivery("before")])
        moved = bench.path.rename(bench.path.with_name("moved.db"))
        for _ in range(2):
            with pytest.raises(InboxUnavailableError):
                await bench.inbox.record([delivery("while away")])
        assert not bench.path.exists()
        moved.rename(bench.path)
        recorded = await bench.inbox.record([delivery("before"), delivery("after")])
        assert [one.is_new for one in recorded] == [False, True]

    async def test_a_full_disk_acknowledges_nothing_and_is_recovered_from(self, bench: SqliteBench) -> None:
        connection = bench.inbox._file.connection(durable=True)
        await bench.inbox._file.run(lambda: connection.pragma("max_page_count", connection.pragma("page_count")))
        with pytest.raises(InboxUnavailableError, match="full"):
            await bench.inbox.record(deliveries(10, body=b"x" * 10_000))
        await bench.inbox._file.run(lambda: connection.pragma("max_page_count", 1_000_000))
        assert all(one.is_new for one in await bench.inbox.record(deliveries(10)))

    async def test_a_table_that_is_gone_makes_the_inbox_unavailable(self, bench: SqliteBench) -> None:
        by_hand(bench.path, "DROP TABLE work")
        with pytest.raises(InboxUnavailableError, match="no such table"):
            await bench.inbox.record([delivery()])
        with pytest.raises(InboxUnavailableError, match="no such table"):
            await bench.inbox.claim(token=token(1), lease=30, limit=1)

    async def test_a_stranger_who_holds_the_write_lock_is_not_waited_for_for_ever(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(connection_module, "BUSY_MILLISECONDS", 1)
        inbox = closed_inbox(tmp_path / "inbox.db")
        await inbox.open()
        await inbox.migrate()
        stranger = apsw.Connection(str(tmp_path / "inbox.db"))
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(InboxUnavailableError, match="locked"):
            await inbox.record([delivery()])
        stranger.execute("ROLLBACK")
        stranger.close()
        assert (await inbox.record([delivery()]))[0].is_new
        await inbox.close()

    async def test_a_call_that_was_given_up_while_it_queued_does_nothing_later(
        self, bench: SqliteBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(thread_module, "PATIENCE", 0.05)
        with _holding_the_lock(bench.path):
            with pytest.raises(InboxUnavailableError, match="did not answer"):
                await bench.inbox.record([delivery("queued at the lock")])
            with pytest.raises(InboxUnavailableError, match="did not answer"):
                await bench.inbox.record([delivery("queued behind it")])
        monkeypatch.undo()
        assert (await bench.inbox.record([delivery("later")]))[0].is_new
        assert (await bench.inbox.census()).events == 1


class TestDurability:
    @pytest.mark.req("R3")
    async def test_a_record_is_synced_before_it_is_answered_and_a_claim_does_not_wait_for_that(
        self, tmp_path: Path, shaky: ShakyVFS
    ) -> None:
        inbox = closed_inbox(tmp_path / "inbox.db")
        await inbox.open()
        await inbox.migrate()
        for what in deliveries(3):
            before = shaky.synced("-wal")
            await inbox.record([what])
            assert shaky.synced("-wal") > before
        before = shaky.synced("-wal")
        (held,) = await inbox.claim(token=token(1), lease=30, limit=1)
        await inbox.settle([settlement(held, Signal.FINISH)])
        assert shaky.synced("-wal") == before
        await inbox.close()

    async def test_after_a_failed_fsync_the_log_is_emptied_before_anything_is_acknowledged(
        self, tmp_path: Path, shaky: ShakyVFS
    ) -> None:
        path = tmp_path / "inbox.db"
        inbox = closed_inbox(path)
        await inbox.open()
        await inbox.migrate()
        await inbox.record([delivery("before")])
        (held,) = await inbox.claim(token=token(1), lease=30, limit=1)  # in the log, and not synced
        shaky.is_failing = True
        for _ in range(2):
            with pytest.raises(InboxUnavailableError):
                await inbox.record([delivery("lost")])
        shaky.is_failing = False
        assert bytes(held.token) not in path.read_bytes()
        assert (await inbox.record([delivery("after")]))[0].is_new
        # It is in the database file now, and synced: what is acknowledged from here on rests on no frame that may be bad.
        assert bytes(held.token) in path.read_bytes()
        # What failed may be there or not: nobody was told, and the sender's retry finds out.
        assert {one.key for one in await inbox.find(Filter(), limit=9)} >= {"before", "after"}
        await inbox.close()

    @pytest.mark.req("R3")
    async def test_what_was_acknowledged_before_a_kill_is_there_after_it(self, bench: SqliteBench) -> None:
        acknowledged = _record_until_killed(bench.path, lines=40)
        assert len(acknowledged) >= 40
        keys = {one.key for one in await bench.inbox.find(Filter(), limit=100_000)}
        assert set(acknowledged) <= keys
        recorded = await bench.inbox.record([delivery(key) for key in acknowledged])
        assert not any(one.is_new for one in recorded)
        assert by_hand(bench.path, "PRAGMA integrity_check") == [("ok",)]
        census = await bench.inbox.census()
        assert census.events == len(keys) == census.states[State.READY]


class ShakyVFS(apsw.VFS):
    """The real file system, whose fsync is counted and can be made to fail."""

    def __init__(self, name: str) -> None:
        self.is_failing = False
        self.syncs: list[str] = []
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802 - apsw's name
        return _ShakyFile(self, name, flags)

    def synced(self, suffix: str) -> int:
        return sum(name.endswith(suffix) for name in self.syncs)


class _ShakyFile(apsw.VFSFile):
    def __init__(self, vfs: ShakyVFS, name: Any, flags: list[int]) -> None:
        self._vfs = vfs
        self._name = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("", name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802 - apsw's name
        if self._vfs.is_failing:
            raise apsw.IOError
        self._vfs.syncs.append(self._name)
        super().xSync(flags)


@pytest.fixture
def shaky(monkeypatch: pytest.MonkeyPatch) -> Iterator[ShakyVFS]:
    vfs = ShakyVFS("shaky")
    monkeypatch.setattr(apsw, "Connection", partial(apsw.Connection, vfs="shaky"))
    yield vfs
    vfs.unregister()


_RECORDER = """
import asyncio, itertools, sys
from landfast.inboxes.sqlite import SqliteInbox
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import delivery

async def main():
    inbox = SqliteInbox(sys.argv[1], clock=ManualClock(), chance=SeededChance())
    await inbox.open()
    for number in itertools.count():
        await inbox.record([delivery(f"evt_{number}")])
        print(f"evt_{number}", flush=True)

asyncio.run(main())
"""


def _record_until_killed(path: Path, *, lines: int) -> list[str]:
    """Every key that a process, killed at any moment, had acknowledged."""
    with subprocess.Popen([sys.executable, "-c", _RECORDER, str(path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline().strip() for _ in range(lines)]
        process.kill()
        whole = [line.strip() for line in process.stdout.readlines() if line.endswith("\n")]
    return acknowledged + whole


@contextmanager
def _holding_the_lock(path: Path) -> Iterator[None]:
    with Path(f"{path}-lock").open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        yield
