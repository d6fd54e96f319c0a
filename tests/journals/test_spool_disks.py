"""Disks that fail: nothing is acknowledged that is not on one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError, JournalUnavailableError
from landfast.journals.mounts import file_system_of
from landfast.journals.spool import check_keeps
from landfast.testing.factory import deliveries
from tests.journals.backlog import ids
from tests.journals.spools import (
    EIO,
    ENOSPC,
    EROFS,
    BrokenFiles,
    aside,
    everything,
    how_it_ended,
    listing,
    opened,
    segments,
)

pytestmark = [pytest.mark.req("R9")]


async def test_a_disk_that_is_full_in_the_middle_of_a_record_cuts_back_and_goes_on_when_there_is_room(
    tmp_path: Path,
) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        await spool.record(deliveries(3))
        size = segments(tmp_path)[0].stat().st_size
        files.always("write", ENOSPC)
        with pytest.raises(JournalUnavailableError, match="No space left"):
            await spool.record(deliveries(5, prefix="refused"))
        assert files.fired and segments(tmp_path)[0].stat().st_size == size
        files.heal()
        await spool.record(deliveries(2, prefix="later"))
        assert len(segments(tmp_path)) == 1
    assert await everything(tmp_path) == ids([*deliveries(3), *deliveries(2, prefix="later")])
    assert aside(tmp_path) == []


async def test_where_it_cannot_even_be_cut_back_the_next_batch_begins_a_new_segment(tmp_path: Path) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        await spool.record(deliveries(3))
        files.breaks = lambda name, _nth: ENOSPC if name in {"write", "cut"} else None
        with pytest.raises(JournalUnavailableError):
            await spool.record(deliveries(5, prefix="refused"))
        files.heal()
        await spool.record(deliveries(2, prefix="later"))
        assert len(segments(tmp_path)) == 2
    wanted = ids([*deliveries(3), *deliveries(2, prefix="later")])
    # The half that stands there was never acknowledged, and may be drained as far as it is whole.
    assert set(wanted) <= set(await everything(tmp_path))


async def test_a_real_disk_that_is_full_refuses_and_loses_nothing(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes the kernel itself refuse in the middle of a write."""
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        async with opened(tmp_path) as spool:
            await spool.record(deliveries(10))
            room = segments(tmp_path)[0].stat().st_size + 100
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
            with pytest.raises(JournalUnavailableError, match="too large"):
                await spool.record(deliveries(10, prefix="refused"))
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            await spool.record(deliveries(10, prefix="later"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert await everything(tmp_path) == ids([*deliveries(10), *deliveries(10, prefix="later")])


async def test_a_failed_sync_is_never_tried_again_on_the_same_file(tmp_path: Path) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        await spool.record(deliveries(3))
        first = files.synced[-1]
        files.once("sync", EIO)
        await spool.record(deliveries(2, prefix="moved"))
        assert files.fired == 1
        assert files.synced[-1] != first and len(segments(tmp_path)) == 2
        await spool.record(deliveries(2, prefix="later"))
        assert files.synced.count(first) == 1, "a file whose sync failed was synced as proof"
    assert await everything(tmp_path) == ids(
        [*deliveries(3), *deliveries(2, prefix="moved"), *deliveries(2, prefix="later")]
    )


async def test_where_the_next_file_fails_too_nothing_is_acknowledged_and_no_litter_is_left(tmp_path: Path) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        files.always("sync", EIO)
        for _ in range(3):
            with pytest.raises(JournalUnavailableError, match="Input/output error"):
                await spool.record(deliveries(3))
        assert files.fired == 6
        assert listing(tmp_path) == []
        files.heal()
        await spool.record(deliveries(1, prefix="later"))
    assert await everything(tmp_path) == ids(deliveries(1, prefix="later"))


@pytest.mark.parametrize("step", ["create", "sync_folder"])
async def test_a_segment_that_cannot_be_made_durable_acknowledges_nothing(tmp_path: Path, step: str) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        files.always(step, EROFS)
        with pytest.raises(JournalUnavailableError, match="Read-only"):
            await spool.record(deliveries(3))
        assert files.fired
        assert segments(tmp_path) == []
        files.heal()
        await spool.record(deliveries(1))


async def test_a_crash_between_making_a_file_and_syncing_its_folder_leaves_nothing_that_matters(tmp_path: Path) -> None:
    for moment in ("create", "sync_folder"):
        child = os.fork()
        if not child:
            _make_a_segment_and_die(tmp_path, moment)
        assert how_it_ended(child) == -9, f"it did not die at {moment}"
        assert listing(tmp_path), "the crash left something behind"
        assert await everything(tmp_path) == []
        assert listing(tmp_path) == []


def _make_a_segment_and_die(folder: Path, moment: str) -> None:
    from landfast.journals.segments import Segment

    class Deadly(BrokenFiles):
        def sync_folder(self, folder: Path) -> None:
            os.kill(os.getpid(), 9)

    try:
        if moment == "create":
            os.rename = lambda *_: os.kill(os.getpid(), 9)
            Path.rename = lambda *_: os.kill(os.getpid(), 9)  # type: ignore[assignment, method-assign]
        Segment.create(folder / "0000000000001-aa-000001.seg", Deadly())
    finally:
        os._exit(1)


async def test_records_that_cannot_be_set_aside_stay_where_they_are_and_those_behind_are_drained(
    tmp_path: Path,
) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        await spool.record(deliveries(3))
        files.always("create", ENOSPC)
        first, *rest = await spool.take(3)
        await spool.set_aside(first, "refused")
        await spool.forget(rest)
        assert files.fired and list(await spool.take(3)) == []
        assert len(segments(tmp_path)) == 1
        files.heal()
    assert deliveries(3)[0].event_id in await everything(tmp_path)


async def test_a_folder_that_cannot_be_written_to_is_refused_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here already")
    files = BrokenFiles()
    files.always("create", EROFS)
    for folder, disk in ((tmp_path / "file", BrokenFiles()), (tmp_path, files)):
        with pytest.raises(ConfigError, match=r"^spool: .* cannot be written to \(.*\); fix its permissions, or set"):
            async with opened(folder, files=disk):
                pass
    assert files.fired


def test_memory_and_container_layers_are_refused_by_name(tmp_path: Path) -> None:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "22 1 0:21 / / rw,relatime - overlay overlay rw\n"
        "23 22 8:1 / /var/lib rw shared:1 - ext4 /dev/sda1 rw\n"
        "24 22 0:30 / /dev/shm rw - tmpfs tmpfs rw\n"
        "25 23 8:2 / /var/lib/my\\040disk rw - xfs /dev/sdb rw\n"
        "26 23 0:31 / /var/lib/covered rw - ext4 /dev/sdc rw\n"
        "27 26 0:32 / /var/lib/covered rw - tmpfs tmpfs rw\n"
        "garbage\n"
    )
    kinds = {
        "/opt/spool": "overlay",
        "/var/lib/landfast": "ext4",
        "/var/library": "overlay",
        "/dev/shm/spool": "tmpfs",
        "/var/lib/my disk/spool": "xfs",
        "/var/lib/covered/spool": "tmpfs",
    }
    assert {folder: file_system_of(Path(folder), mounts) for folder in kinds} == kinds
    assert file_system_of(tmp_path, tmp_path / "missing") is None
    if file_system_of(Path("/dev/shm")) == "tmpfs":
        with pytest.raises(ConfigError, match="spool_anywhere"):
            check_keeps(Path("/dev/shm/landfast-spool"))
