"""Processes that start together on one spool, as those of one server do."""

from __future__ import annotations

import asyncio
import fcntl
import threading
from pathlib import Path

import pytest

from landfast.domain.ids import BootId
from landfast.journals.files import Files
from landfast.journals.folder import Folder
from tests.journals.spools import MEBIBYTE, HastyFiles, listing
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.req("R9")]


async def test_processes_that_start_together_make_the_folder_together(tmp_path: Path) -> None:
    for number in range(30):
        folder = tmp_path / f"{number}" / "var" / "spool"
        everybody = threading.Barrier(4)

        def start(boot: int, folder: Path = folder, everybody: threading.Barrier = everybody) -> None:
            spool = _folder(folder, boot)
            everybody.wait(PATIENCE_SECONDS)
            spool.open()
            spool.close()

        await asyncio.gather(*(asyncio.to_thread(start, boot) for boot in range(4)))


async def test_neighbours_that_start_meanwhile_keep_nobody_from_making_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours = [_folder(tmp_path, boot) for boot in range(1, 20)]
    lock = fcntl.flock

    def lock_after_a_neighbour(descriptor: int, how: int) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        if neighbours:
            neighbours.pop().open()  # it clears away what is not locked yet
        monkeypatch.setattr(fcntl, "flock", lock_after_a_neighbour)
        lock(descriptor, how)

    monkeypatch.setattr(fcntl, "flock", lock_after_a_neighbour)
    _folder(tmp_path, 0).open()
    assert not neighbours and not listing(tmp_path)


async def test_nobody_who_starts_is_taken_for_dead_by_a_neighbour(tmp_path: Path) -> None:
    """What a dead boot left is counted by whoever has taken it over, and its own reports no more."""
    seen: list[frozenset[str]] = []

    class Watched(HastyFiles):
        def close(self, descriptor: int) -> None:
            super().close(descriptor)
            neighbour = _folder(tmp_path, len(seen) + 1)
            neighbour.open()
            seen.append(neighbour.adopted_boots)

    _folder(tmp_path, 0, Watched()).open()
    assert seen == [frozenset()]


def _folder(path: Path, boot: int, files: Files | None = None) -> Folder:
    return Folder(
        path,
        boot=BootId(b"boot-%03d" % boot),
        began=0.0,
        limit=MEBIBYTE,
        files=HastyFiles() if files is None else files,
    )
