"""A disk that is really full, and the one command that leaves it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from landfast.app.ballast import SUFFIX, Ballast
from landfast.domain.errors import InboxUnavailableError
from landfast.inboxes.sqlite import checkpoint
from landfast.testing.factory import delivery
from tests.inboxes.sqlite_bench import SqliteBench
from tests.inboxes.sqlite_passes import done, must_be_exact

pytestmark = pytest.mark.req("R43")

DISK_MEGABYTES = 32
BALLAST_BYTES = 4 * 1024 * 1024
LARGE = b"x" * 5 * 1024 * 1024
"""More than the log has room for, which is written over and over."""
LOG_PAGES = 250
"""A megabyte: the ballast must be larger than the log, which has to fit into the file before anything is deleted."""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MEGABYTES}m", "landfast-test", str(folder)]
    if (
        os.geteuid()
        or shutil.which("mount") is None
        or subprocess.run(mount, capture_output=True, check=False).returncode
    ):
        pytest.skip("a small disk can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def _filled(bench: SqliteBench) -> int:
    """Events that were acknowledged before the disk was full."""
    number = 0
    while True:
        try:
            await done(bench.inbox, [f"event {number + each}" for each in range(100)], body=os.urandom(3_000))
        except InboxUnavailableError:
            return number
        number += 100


async def test_the_one_command_leaves_a_full_disk_and_nothing_that_was_acknowledged_is_lost(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "PAGES", LOG_PAGES)
    assert _landfast(disk, "migrate").returncode == 0
    bench = SqliteBench(disk / "inbox.db")
    await bench.inbox.open()
    ballast = Ballast(disk / f"inbox.db{SUFFIX}", BALLAST_BYTES)
    ballast.lay_if_worth_it()
    assert not ballast.path.exists(), "an inbox that is smaller needs none"
    await done(bench.inbox, [f"early {number}" for number in range(2_000)], body=os.urandom(3_000))
    ballast.lay_if_worth_it()
    assert ballast.path.exists()
    count = 2_000 + await _filled(bench)
    with (disk / "a stranger's").open("wb", buffering=0) as stranger, suppress(OSError):
        while stranger.write(b"x" * 4096):
            pass
    assert shutil.disk_usage(disk).free == 0
    with pytest.raises(InboxUnavailableError):
        await bench.inbox.record([delivery("late", body=LARGE)])
    said = _landfast(disk, "retention", "run", "--now", "--bodies", "7d")
    assert said.returncode == 0, said.stderr
    assert "the ballast makes room" in said.stderr
    assert shutil.disk_usage(disk).free > 6 * 1024 * 1024
    assert ballast.path.stat().st_size == BALLAST_BYTES
    recorded = await bench.inbox.record([delivery("late", body=LARGE)])
    assert recorded[0].is_new, "the intake needs no restart"
    states = await must_be_exact(bench.inbox)
    census = await bench.inbox.census()
    assert census.events >= count + 1
    assert census.events - sum(census.expired.values()) == sum(states.values())
    await bench.close()


async def test_without_a_ballast_the_command_says_what_is_wrong(disk: Path) -> None:
    assert _landfast(disk, "migrate").returncode == 0
    with (disk / "a stranger's").open("wb", buffering=0) as stranger, suppress(OSError):
        while stranger.write(b"x" * 4096):
            pass
    said = _landfast(disk, "retention", "run", "--now")
    assert said.returncode == 2
    assert "Traceback" not in said.stderr
    assert len(said.stderr.splitlines()) <= 2, said.stderr


def _landfast(disk: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    settings = {
        "LANDFAST_STORE": f"sqlite:{disk / 'inbox.db'}",
        "LANDFAST_LEDGER": f"sqlite:{disk / 'ledger.db'}",
        "LANDFAST_BALLAST": str(BALLAST_BYTES),
    }
    run = [sys.executable, "-m", "landfast", *arguments]
    return subprocess.run(
        run, capture_output=True, text=True, check=False, cwd=disk.parent, env={**os.environ, **settings}
    )
