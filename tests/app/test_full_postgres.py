"""The disk of a PostgreSQL inbox is really full, and the one command leaves it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from landfast.domain.errors import InboxUnavailableError
from landfast.domain.lifecycle import Signal
from landfast.domain.retention import DAY_SECONDS
from landfast.testing.factory import delivery, settlement, token
from tests.inboxes.postgres_bench import PostgresBench
from tests.servers import Postgres

pytestmark = [pytest.mark.req("R43"), pytest.mark.long]

DISK_MEGABYTES = 224
SETTINGS = {"min_wal_size": "32MB", "max_wal_size": "64MB", "shared_buffers": "16MB"}
"""So that the log has its share of a small disk, and no more."""
BODY_BYTES = 20_000
WEEKLY = 800
BALLAST_BYTES = 16 * 1024 * 1024
LAID = "SELECT coalesce(pg_relation_size(to_regclass('landfast.ballast_laid')), 0)"


@pytest.fixture
def server() -> Iterator[Postgres]:
    """On a disk of its own."""
    server = Postgres()
    disk = server.folder / "data"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m,mode=0700", "landfast-test", str(disk)]
    if os.geteuid() or not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        shutil.rmtree(server.folder)
        pytest.skip("a small disk can only be mounted by root")
    shutil.chown(disk, "nobody")
    try:
        server.create()
        for name, value in SETTINGS.items():
            server.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        server.stop(immediate=False)
        # Without room for its log PostgreSQL goes down by itself, sooner or later, and nothing that asks it can help.
        subprocess.run(["mv", str(disk / "pg_wal"), str(server.folder / "wal")], check=True)
        (disk / "pg_wal").symlink_to(server.folder / "wal")
        server.start()
        yield server
    finally:
        server.stop()
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
        server.destroy()


@pytest.fixture
async def bench(server: Postgres) -> AsyncIterator[PostgresBench]:
    async with PostgresBench(server.dsn(server.new_database())).migrated() as made:
        yield made


async def _week(bench: PostgresBench, number: int, count: int) -> int:
    """Events that were acknowledged, and are done a moment later."""
    (now,) = await bench.fetch("SELECT landfast.clock()")
    for first in range(0, count, 50):
        made = [
            delivery(
                f"{number}-{first + each}", body=os.urandom(BODY_BYTES), received_at=now + timedelta(microseconds=each)
            )
            for each in range(50)
        ]
        try:
            await bench.inbox.record(made)
        except InboxUnavailableError:
            return first
        with suppress(InboxUnavailableError):
            claims = await bench.inbox.claim(token=token(number * 10_000 + first + 1), lease=30, limit=50)
            await bench.inbox.settle([settlement(claim, Signal.FINISH, handlers=("h",)) for claim in claims])
    return count


async def test_the_one_command_leaves_a_full_disk_of_postgresql(
    server: Postgres, bench: PostgresBench, tmp_path: Path
) -> None:
    disk, ledger = server.folder / "data", tmp_path / "ledger.db"
    assert _landfast(bench, ledger, "migrate").returncode == 0
    count = 0
    for number in range(5):
        count += await _week(bench, number, WEEKLY)
        await bench.advance(7 * DAY_SECONDS)
        await bench.inbox.prepare()
    await bench.inbox.lay_ballast(BALLAST_BYTES)
    assert await bench.fetch(LAID) > [0.9 * BALLAST_BYTES]
    count += await _week(bench, 6, 100_000)
    with (disk / "a stranger's").open("wb", buffering=0) as stranger, suppress(OSError):
        while stranger.write(b"x" * 4096):
            pass
    assert shutil.disk_usage(disk).free == 0
    with pytest.raises(InboxUnavailableError):
        await bench.inbox.record([delivery("late", body=os.urandom(2**24), received_at=datetime.now(UTC))])
    said = _landfast(bench, ledger, "retention", "run", "--now", "--bodies", "7d")
    assert said.returncode == 0, said.stderr
    assert shutil.disk_usage(disk).free > 20 * 1024 * 1024
    assert await bench.fetch(LAID) > [0.9 * BALLAST_BYTES], "it is there for the next time"
    assert await bench.inbox.problems() == []
    (new,) = await bench.inbox.record([delivery("late", body=os.urandom(BODY_BYTES), received_at=datetime.now(UTC))])
    assert new.is_new
    census = await bench.inbox.census()
    assert census.here == sum(census.states.values())
    assert census.events >= count + 1


def _landfast(bench: PostgresBench, ledger: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = {"LANDFAST_STORE": bench.dsn, "LANDFAST_LEDGER": f"sqlite:{ledger}"}
    run = [sys.executable, "-m", "landfast", *arguments]
    return subprocess.run(
        run, capture_output=True, text=True, check=False, cwd=ledger.parent, env={**os.environ, **settings}
    )
