"""The spool: what it has answered for is there, whatever happens to its files."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from landfast.domain.errors import JournalUnavailableError
from landfast.domain.ids import BootId
from landfast.journals import folder as folder_module
from landfast.journals import records as records_module
from landfast.journals.folder import set_aside_in, waiting_in
from landfast.journals.records import MARK_BYTES, encode, encode_mark
from landfast.journals.segments import seed_of
from landfast.journals.spool import Spool
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries, delivery
from tests.journals.backlog import BacklogSuite, Held, ids, of
from tests.journals.spools import (
    ENOSPC,
    MEBIBYTE,
    OTHER,
    BrokenFiles,
    aside,
    descriptors,
    everything,
    listing,
    opened,
    segments,
)
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.req("R9")]


@dataclass
class _Held:
    journal: Spool
    backlog: Spool


class _Bench:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._boots = 0

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Held]:
        self._boots += 1
        async with opened(self._folder, boot=BootId(b"boot-%03d" % self._boots)) as spool:
            yield _Held(spool, spool)

    def aside(self) -> bytes:
        return b"".join(path.read_bytes() for path in aside(self._folder))


class TestBacklog(BacklogSuite):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> _Bench:
        return _Bench(tmp_path / "spool")


async def test_an_empty_spool_has_no_files_and_what_it_has_is_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "spool"
    async with opened(folder) as spool:
        assert listing(folder) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        await spool.record(deliveries(3))
        assert [stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()] == [0o600]
        assert spool.meters()["spool_records"] == 3
        await spool.forget(await spool.take(3))
        assert listing(folder) == []
        assert spool.meters() == {"spool_records": 0, "spool_bytes": 0, "spooled": 3}


@pytest.mark.req("R61")
async def test_whose_spool_was_taken_over_is_told_once_all_of_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, dead = tmp_path / "spool", BootId(b"dead----")
    for n in range(2):  # two segments of one boot
        async with opened(folder, boot=dead) as spool:
            spool._folder._number = n
            await spool.record(deliveries(1, prefix=f"evt_{n}"))
    taken_over = f"spool_adopted:{dead.hex()}"
    monkeypatch.setattr(folder_module, "ADOPTED_SEGMENTS", 1)
    async with opened(folder, boot=OTHER) as spool:
        assert taken_over not in spool.meters()
        monkeypatch.setattr(folder_module, "ADOPTED_SEGMENTS", 2)
        spool._folder.adopt()
        assert (spool.meters()[taken_over], spool.meters()["spool_records"]) == (1, 2)
        await spool.forget(await spool.take(5))
        assert (spool.meters()[taken_over], spool.meters()["spool_records"]) == (1, 0)


async def test_one_batch_is_one_write_and_one_sync_and_a_new_file_syncs_its_folder_before_that(tmp_path: Path) -> None:
    files = BrokenFiles()
    async with opened(tmp_path, files=files) as spool:
        files.calls.clear()
        await spool.record(deliveries(500))
        assert files.calls == ["create", "write", "sync_folder", "write", "sync"]
        files.calls.clear()
        await spool.record(deliveries(500, prefix="more"))
        assert files.calls == ["write", "sync"]


async def test_deliveries_of_one_request_are_one_record(tmp_path: Path) -> None:
    batch = [delivery(f"evt_{number}") for number in range(5)]  # one time, one set of headers
    async with opened(tmp_path) as spool:
        await spool.record([*batch, *deliveries(2, prefix="other", headers=b"[]")])
        taken = await spool.take(500)
        assert sorted(len(each.deliveries) for each in taken) == [1, 1, 5]


async def test_nothing_is_answered_before_the_sync_is_over(tmp_path: Path) -> None:
    gate = threading.Event()
    entered = threading.Event()

    class Slow(BrokenFiles):
        def sync(self, descriptor: int) -> None:
            entered.set()
            assert gate.wait(PATIENCE_SECONDS)
            super().sync(descriptor)

    async with opened(tmp_path, files=Slow()) as spool:
        recording = asyncio.create_task(spool.record(deliveries(1)))
        await asyncio.to_thread(entered.wait, PATIENCE_SECONDS)
        done, _ = await asyncio.wait([recording], timeout=0.1)
        assert not done, "answered while the disk was still at it"
        gate.set()
        assert len(await recording) == 1


async def test_beyond_its_limit_it_refuses_and_has_room_again_when_it_is_drained(tmp_path: Path) -> None:
    body = b"x" * 200_000
    async with opened(tmp_path, limit=MEBIBYTE) as spool:
        for number in range(5):
            await spool.record([delivery(f"evt_{number}", body=body)])
        with pytest.raises(JournalUnavailableError, match="spool_limit"):
            await spool.record([delivery("evt_refused", body=body)])
        await spool.forget(await spool.take(2))
        assert spool.waiting == 3
        # A segment frees its room as a whole.
        await spool.forget(await spool.take(500))
        await spool.record([delivery("evt_6", body=body)])


async def test_the_limit_is_the_folders_and_counts_what_neighbours_have(tmp_path: Path) -> None:
    clock = ManualClock()
    async with (
        opened(tmp_path, limit=MEBIBYTE) as one,
        opened(tmp_path, boot=OTHER, limit=MEBIBYTE, clock=clock) as two,
    ):
        await one.record([delivery("evt_1", body=b"x" * 900_000)])
        clock.advance(2)
        await two.take(1)
        with pytest.raises(JournalUnavailableError, match="spool_limit"):
            await two.record([delivery("evt_2", body=b"x" * 200_000)])


async def test_what_could_not_be_read_again_is_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records_module, "LONGEST_RECORD_BYTES", 1000)
    async with opened(tmp_path) as spool:
        with pytest.raises(JournalUnavailableError, match="more than a spool can keep"):
            await spool.record([delivery(body=b"x" * 1000)])
        await spool.record([delivery(body=b"x" * 500)])
        assert len(await spool.take(500)) == 1


async def test_segments_are_cut_so_that_draining_frees_room(tmp_path: Path) -> None:
    async with opened(tmp_path, limit=64 * MEBIBYTE) as spool:
        for number in range(6):
            await spool.record([delivery(f"evt_{number}", body=b"x" * 600_000)])
        assert len(segments(tmp_path)) == 3
        await spool.forget(await spool.take(2))
        assert len(segments(tmp_path)) == 2


async def test_two_living_processes_never_share_a_segment_and_an_orphan_goes_to_one_of_them(tmp_path: Path) -> None:
    clock = ManualClock()
    async with opened(tmp_path, clock=clock) as one:
        await one.record(deliveries(3))
        async with opened(tmp_path, boot=OTHER, clock=clock) as two:
            await two.record(deliveries(3, prefix="two"))
            assert len(segments(tmp_path)) == 2
            clock.advance(5)
            assert ids(of(await two.take(500))) == ids(deliveries(3, prefix="two"))
            assert ids(of(await one.take(500))) == ids(deliveries(3))
        # The second is gone, and what it had not drained is anybody's.
        clock.advance(5)
        taken = await one.take(500)
        assert ids(of(taken)) == ids(deliveries(3, prefix="two"))
        await one.forget(taken)


async def test_a_graceful_stop_in_the_middle_of_a_segment_is_gone_on_from_where_it_was(tmp_path: Path) -> None:
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(10))
        await spool.forget(await spool.take(4))
    async with opened(tmp_path, boot=OTHER) as spool:
        assert spool.waiting == 6
        assert of(await spool.take(500)) == deliveries(10)[4:]


async def test_segments_of_many_boots_are_drained_oldest_first(tmp_path: Path) -> None:
    clock = ManualClock()
    for number in range(3):
        async with opened(tmp_path, boot=BootId(os.urandom(8)), clock=clock) as spool:
            await spool.record([delivery(f"evt_{number}")])
        clock.advance(10)
    async with opened(tmp_path, clock=clock) as spool:
        assert [one.key for one in of(await spool.take(500))] == ["evt_0", "evt_1", "evt_2"]


async def test_what_was_set_aside_is_read_again_when_it_is_renamed(tmp_path: Path) -> None:
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(3))
        await spool.set_aside((await spool.take(1))[0], "refused")
    (path,) = aside(tmp_path)
    path.rename(path.with_suffix(".seg"))
    assert await everything(tmp_path) == ids(deliveries(3))


async def test_what_is_set_aside_can_be_looked_at_without_touching_it(tmp_path: Path) -> None:
    """By whoever runs the doctor: which events are waiting for an operator, and which bytes are no record."""
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(3))
        for taken in await spool.take(3):
            await spool.set_aside(taken, "refused")
    damaged = aside(tmp_path)[0]
    damaged.write_bytes(damaged.read_bytes()[:-1])
    before = listing(tmp_path)
    assert set_aside_in(tmp_path) == [f"{damaged.name} (damaged)", "shop/evt_0001", "shop/evt_0002"]
    assert set_aside_in(tmp_path / "missing") == []
    assert listing(tmp_path) == before


async def test_a_sync_that_takes_long_keeps_nobody_waiting_but_its_own_batch(tmp_path: Path) -> None:
    """Two seconds on a bad disk; here, as long as we like."""
    gate = threading.Event()

    class Slow(BrokenFiles):
        def sync(self, descriptor: int) -> None:
            assert gate.wait(PATIENCE_SECONDS)
            super().sync(descriptor)

    async with opened(tmp_path, files=Slow()) as spool:
        recording = asyncio.create_task(spool.record(deliveries(1)))
        turns = 0
        while turns < 1000:  # the loop goes round meanwhile
            await asyncio.sleep(0)
            turns += 1
        assert not recording.done() and spool.waiting == 0
        gate.set()
        await recording
        assert spool.waiting == 1


async def test_what_is_refused_again_after_it_was_renamed_is_still_known_as_set_aside(tmp_path: Path) -> None:
    async with opened(tmp_path) as spool:
        await spool.record(deliveries(1))
        await spool.set_aside((await spool.take(1))[0], "refused")
    for _ in range(3):
        (path,) = aside(tmp_path)
        path.rename(path.with_suffix(".seg"))
        async with opened(tmp_path, boot=OTHER) as spool:
            await spool.set_aside((await spool.take(1))[0], "refused")
        assert waiting_in(tmp_path) == (0, 1), listing(tmp_path)


async def test_segments_are_found_again_however_many_there_were_and_whatever_the_clock_said(tmp_path: Path) -> None:
    """A disk that is full for an hour has every batch try a new number."""
    clock = ManualClock()
    clock.advance(400 * 365 * 86_400.0)
    files = BrokenFiles()
    async with opened(tmp_path, clock=clock, files=files) as spool:
        spool._folder._number = 999_998
        files.always("create", ENOSPC)
        with pytest.raises(JournalUnavailableError):
            await spool.record(deliveries(1, prefix="refused"))
        files.heal()
        await spool.record(deliveries(1))
    assert "-1000000.seg" in listing(tmp_path)[0]
    assert waiting_in(tmp_path) == (1, 0)
    assert await everything(tmp_path) == ids(deliveries(1))


async def test_of_a_thousand_orphans_only_so_many_are_held_open_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "ADOPTED_SEGMENTS", 10)
    for number in range(35):
        seed = seed_of(tmp_path / f"0-{number:04x}-0.seg")
        record = encode([delivery(f"evt_{number:04}")], seed=seed)
        (tmp_path / f"{number:013}-{number:04x}-000001.seg").write_bytes(encode_mark(MARK_BYTES, seed=seed) + record)
    clock, found = ManualClock(), list[str]()
    before = descriptors()
    async with opened(tmp_path, clock=clock) as spool:
        while taken := await spool.take(500):
            assert descriptors() - before < 15
            found += [one.key for one in of(taken)]
            await spool.forget(taken)
            clock.advance(2)
    assert found == [f"evt_{number:04}" for number in range(35)], "all of them, oldest first"
