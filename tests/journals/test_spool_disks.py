"""Disks that fail: nothing is acknowledged that is not on one."""

from __future__ import annotations

import asyncio
import os
import shutil
import threading
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError, JournalUnavailableError
from landfast.domain.ids import BootId
from landfast.intake.durability.drain import Drainer
from landfast.journals import spool as spool_module
from landfast.journals.mounts import file_system_of
from landfast.journals.spool import check_keeps
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries, delivery
from tests.intake.desk import MemoryRecorder
from tests.journals.backlog import ids, of
from tests.journals.spools import (
    EIO,
    ENOSPC,
    EROFS,
    OTHER,
    BrokenFiles,
    aside,
    descriptors,
    everything,
    how_it_ended,
    listing,
    opened,
    segments,
)
from tests.patience import PATIENCE_SECONDS

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
    for folder, disk, sentence in (
        (tmp_path / "file", BrokenFiles(), r"^spool: .* is a file, or in one; set spool to a folder"),
        (tmp_path / "file" / "in it", BrokenFiles(), r"^spool: .* is a file, or in one; set spool to a folder"),
        (tmp_path, files, r"^spool: .* cannot be written to \(.*\); fix its permissions, or set"),
    ):
        with pytest.raises(ConfigError, match=sentence):
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


async def test_a_segment_that_cannot_be_read_holds_up_no_other_and_is_drained_when_it_can(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    boots = [BootId(b"boot-%03d" % number) for number in range(3)]
    for boot in boots:
        async with opened(tmp_path, boot=boot) as spool:
            await spool.record([delivery(boot.decode())])
    files, clock, inbox = BrokenFiles(), ManualClock(), MemoryRecorder()
    async with opened(tmp_path, boot=OTHER, files=files, clock=clock) as spool:
        drainer = Drainer(spool, inbox, clock=clock)
        files.unreadable = boots[1].hex()
        for _ in range(10):
            clock.advance(await drainer.step())
        assert files.fired
        assert [one.key for one in inbox.events.values()] == ["boot-000", "boot-002"]
        assert caplog.text.count("spool_segment_unreadable") == 1
        files.unreadable = ""
        clock.advance(await drainer.step())
        assert len(inbox.events) == 3 and listing(tmp_path) == []


async def test_a_segment_that_cannot_even_be_adopted_stops_no_start_and_leaks_no_descriptor(tmp_path: Path) -> None:
    for boot in (b"boot-000", b"boot-001"):
        async with opened(tmp_path, boot=BootId(boot)) as spool:
            await spool.record([delivery(boot.decode())])
    files, clock = BrokenFiles(), ManualClock()
    files.unreadable = b"boot-000".hex()
    async with opened(tmp_path, boot=OTHER, files=files, clock=clock) as spool:
        assert [one.key for one in of(await spool.take(500))] == ["boot-001"]
        before = descriptors()
        for _ in range(10):
            clock.advance(2)
            await spool.take(500)
        assert files.fired > 10 and descriptors() == before
        files.unreadable = ""
        clock.advance(2)
        assert [one.key for one in of(await spool.take(500))] == ["boot-000"]


async def test_a_drained_segment_that_cannot_be_removed_is_not_drained_over_and_over(tmp_path: Path) -> None:
    files, clock, inbox = BrokenFiles(), ManualClock(), MemoryRecorder()
    async with opened(tmp_path, files=files, clock=clock) as spool:
        await spool.record(deliveries(3))
        files.always("unlink", EROFS)
        drainer = Drainer(spool, inbox, clock=clock)
        for _ in range(20):
            clock.advance(await drainer.step())
        assert files.fired and len(inbox.batches) == 1 and spool.waiting == 0
        await spool.record(deliveries(1, prefix="later"))  # it is still good for writing
        for _ in range(5):
            clock.advance(await drainer.step())
        assert len(inbox.batches) == 2 and len(segments(tmp_path)) == 1
    async with opened(tmp_path, boot=OTHER) as spool:
        assert list(await spool.take(500)) == [], "the next process knows how far it was drained"
    assert listing(tmp_path) == []


async def test_a_disk_that_hangs_is_waited_for_only_so_long_and_what_it_wrote_late_is_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "BATCH_SECONDS", 0.05)
    gate, hangs = threading.Event(), threading.Event()

    class Hanging(BrokenFiles):
        def sync(self, descriptor: int) -> None:
            hangs.set()
            assert gate.wait(PATIENCE_SECONDS)
            super().sync(descriptor)

    files = Hanging()
    async with opened(tmp_path, files=files) as spool:
        try:
            with pytest.raises(JournalUnavailableError, match="did not answer within"):
                await spool.record(deliveries(1))
            assert await asyncio.to_thread(hangs.wait, PATIENCE_SECONDS)
            writes = files.calls.count("write")
            for _ in range(3):
                with pytest.raises(JournalUnavailableError, match="has not answered"):
                    await spool.record(deliveries(1, prefix="refused"))
        finally:
            monkeypatch.setattr(spool_module, "BATCH_SECONDS", PATIENCE_SECONDS)
            gate.set()
        assert ids(of(await spool.take(500))) == ids(deliveries(1))
        assert files.calls.count("write") == writes, "what was refused piled up behind it"
        await spool.record(deliveries(1, prefix="later"))


async def test_every_folder_that_had_to_be_made_is_synced_into_its_parent(tmp_path: Path) -> None:
    class Watched(BrokenFiles):
        def sync_folder(self, folder: Path) -> None:
            synced.add(folder)
            super().sync_folder(folder)

    synced: set[Path] = set()
    async with opened(tmp_path / "var" / "lib" / "spool", files=Watched()):
        assert synced == {tmp_path, tmp_path / "var", tmp_path / "var" / "lib"}


async def test_nothing_is_acknowledged_in_a_file_that_somebody_has_removed(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    async with opened(folder) as spool:
        await spool.record(deliveries(2))
        segments(folder)[0].unlink()
        await spool.record(deliveries(1, prefix="moved"))
        (path,) = segments(folder)
        assert path.name.endswith("-000002.seg"), "the next file was not begun"
        # What was acknowledged before is still drained, as long as we live.
        assert set(ids(of(await spool.take(500)))) == set(ids([*deliveries(2), *deliveries(1, prefix="moved")]))
        path.unlink()
        folder.rmdir()
        with pytest.raises(JournalUnavailableError, match="No such file"):
            await spool.record(deliveries(1, prefix="refused"))
        folder.mkdir()
        await spool.record(deliveries(1, prefix="later"))
    assert await everything(folder) == ids(deliveries(1, prefix="later"))


async def test_what_was_acknowledged_in_a_folder_that_is_gone_is_drained_from_what_is_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, clock, inbox = tmp_path / "spool", ManualClock(), MemoryRecorder()
    inbox.is_down = True
    async with opened(folder, clock=clock) as spool:
        await spool.record(deliveries(3))
        drainer = Drainer(spool, inbox, clock=clock)
        shutil.rmtree(folder)
        for _ in range(5):
            clock.advance(2 + await drainer.step())  # each of them looks for what neighbours left
        inbox.is_down = False
        for _ in range(5):
            clock.advance(2 + await drainer.step())
        assert sorted(inbox.events) == sorted(ids(deliveries(3))) and spool.waiting == 0
        assert caplog.text.count("spool_folder_unreadable") == 1
        folder.mkdir()
        async with opened(folder, boot=OTHER) as other:
            await other.record(deliveries(1, prefix="later"))
        clock.advance(2 + await drainer.step())
        assert len(inbox.events) == 4, "neighbours are looked for again"
        shutil.rmtree(folder)
        clock.advance(2)
        await drainer.step()
        assert caplog.text.count("spool_folder_unreadable") == 2


async def test_a_start_that_dies_while_it_tries_the_folder_leaves_nothing_for_ever(tmp_path: Path) -> None:
    files = BrokenFiles()
    files.always("unlink", EROFS)
    with pytest.raises(ConfigError):
        async with opened(tmp_path, files=files):
            pass
    assert files.fired and len(listing(tmp_path)) == 1
    assert await everything(tmp_path) == []
    assert listing(tmp_path) == []
