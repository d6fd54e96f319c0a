"""What lies in a spool or a broker shows nothing, and whoever has the master key brings it into the inbox."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from landfast.domain.delivery import Delivery
from landfast.domain.ids import BootId, InboxId
from landfast.intake.durability.drain import PROBE_DELIVERIES, Drainer
from landfast.intake.durability.fallback import Fallback
from landfast.intake.durability.outage import Outage
from landfast.journals import folder as folder_module
from landfast.journals.jetstream import JetStreamJournal
from landfast.journals.jetstream_backlog import JetStreamBacklog
from landfast.journals.spool import Spool
from landfast.sealing import Seal
from landfast.sealing.seal import SEALED
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries, delivery
from tests.intake.desk import MemoryRecorder
from tests.journals.jetstream_bench import Elsewhere
from tests.journals.spools import descriptors, segments
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS
from tests.sealing.scenes import MASTER, OTHER, files_with

INBOX = InboxId(b"i" * 16)
MAC = b"m" * 32


def spool_in(folder: Path, seal: Seal, number: int = 1, clock: ManualClock | None = None) -> Spool:
    boot = BootId(number.to_bytes(8))
    return Spool(folder / "spool", boot=boot, clock=clock or ManualClock(), limit=2**24, anywhere=True, seal=seal)


async def left_behind(folder: Path, seal: Seal, number: int, sent: Sequence[Delivery]) -> None:
    spool = spool_in(folder, seal, number)
    await spool.open()
    await spool.record(sent)
    await spool.close()


async def test_a_spool_shows_nothing_and_gives_back_everything(tmp_path: Path) -> None:
    canary = secrets.token_hex(16)
    sent = delivery(body=canary.encode(), headers=msgspec.json.encode([["x", canary]]))
    spool = spool_in(tmp_path, Seal([MASTER]))
    await spool.open()
    await spool.record([sent])
    await spool.close()
    assert files_with(tmp_path / "spool", b"evt_1")
    assert files_with(tmp_path / "spool", canary.encode()) == []
    wrong = spool_in(tmp_path, Seal([OTHER]), 2)
    await wrong.open()
    assert not await wrong.take(9) and wrong.waiting == 1
    await wrong.close()
    right = spool_in(tmp_path, Seal([MASTER]), 3)
    await right.open()
    (taken,) = await right.take(9)
    assert list(taken.deliveries) == [sent]
    await right.set_aside(taken, "refused")
    assert list((tmp_path / "spool").glob("*.bad"))
    assert files_with(tmp_path / "spool", canary.encode()) == []
    await right.close()


async def test_a_record_that_nobody_can_open_is_set_aside_and_those_behind_it_are_drained(tmp_path: Path) -> None:
    spool = spool_in(tmp_path, Seal([MASTER]))
    await spool.open()
    first, second = delivery(key="evt_1"), delivery(key="evt_2")
    box = Seal([MASTER]).carried(b"content", second.event_id)  # of another event
    moved = msgspec.structs.replace(first, headers=SEALED, body=box)
    await spool._run(lambda: spool._folder.append([[moved]]))
    await spool.record([second])
    (taken,) = await spool.take(9)
    assert list(taken.deliveries) == [second]
    assert list((tmp_path / "spool").glob("*.bad"))
    await spool.forget([taken])
    assert not await spool.take(9)
    await spool.close()


async def test_a_record_whose_master_key_is_missing_holds_up_nobody_and_is_drained_once_when_the_key_is_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    await left_behind(tmp_path, Seal([OTHER]), 1, [delivery("evt_old")])
    clock, inbox = ManualClock(), MemoryRecorder()
    outage = Outage(clock)
    spool = spool_in(tmp_path, Seal([MASTER]), 2, clock)
    await spool.open()
    fallback = Fallback(inbox, spool, outage=outage, clock=clock)
    drainer = Drainer(spool, inbox, clock=clock, outage=outage)
    inbox.is_down = True
    await fallback.record([delivery("evt_during")])
    inbox.is_down = False
    for _ in range(20):
        clock.advance(await drainer.step())
    assert not outage.is_on and [one.key for one in inbox.events.values()] == ["evt_during"]
    assert (await fallback.record([delivery("evt_later")]))[0].in_inbox
    assert spool.waiting == spool.meters()["spool_records"] == len(segments(tmp_path / "spool")) == 1
    assert caplog.text.count("spool_key_missing") == 1 and "name that one in seal_old" in caplog.text
    assert "drain_failed" not in caplog.text
    await spool.close()
    spool = spool_in(tmp_path, Seal([MASTER, OTHER]), 3, clock)
    await spool.open()
    drainer = Drainer(spool, inbox, clock=clock)
    for _ in range(5):
        clock.advance(await drainer.step())
    assert [one.key for batch in inbox.batches for one in batch].count("evt_old") == 1
    assert len(inbox.events) == 3 and spool.waiting == 0 and segments(tmp_path / "spool") == []
    await spool.close()


async def test_more_records_without_their_key_than_are_taken_at_a_time_hide_none_behind_them(tmp_path: Path) -> None:
    await left_behind(tmp_path, Seal([OTHER]), 1, deliveries(3 * PROBE_DELIVERIES))
    await left_behind(tmp_path, Seal([MASTER]), 2, [delivery("evt_behind")])
    spool = spool_in(tmp_path, Seal([MASTER]), 3)
    await spool.open()
    (taken,) = await spool.take(PROBE_DELIVERIES)
    assert [one.key for one in taken.deliveries] == ["evt_behind"]
    await spool.close()


async def test_segments_without_their_key_make_room_for_those_that_can_be_drained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_module, "ADOPTED_SEGMENTS", 2)
    for number in range(1, 6):
        await left_behind(tmp_path, Seal([OTHER]), number, [delivery(f"evt_{number}")])
    await left_behind(tmp_path, Seal([MASTER]), 6, [delivery("evt_6")])
    clock, inbox, before = ManualClock(), MemoryRecorder(), descriptors()
    spool = spool_in(tmp_path, Seal([MASTER]), 7, clock)
    await spool.open()
    drainer = Drainer(spool, inbox, clock=clock)
    for _ in range(10):
        clock.advance(2 + await drainer.step())
        assert descriptors() - before < 5
    assert [one.key for one in inbox.events.values()] == ["evt_6"]
    assert spool.waiting == len(segments(tmp_path / "spool")) == 5, "what waits is told, open or not"
    assert len([name for name in spool.meters() if name.startswith("spool_adopted:")]) == 6
    await spool.close()
    spool = spool_in(tmp_path, Seal([MASTER, OTHER]), 8, clock)
    await spool.open()
    drainer = Drainer(spool, inbox, clock=clock)
    for _ in range(10):
        clock.advance(2 + await drainer.step())
    assert sorted(one.key for batch in inbox.batches for one in batch) == [f"evt_{number}" for number in range(1, 7)]
    assert segments(tmp_path / "spool") == []
    await spool.close()


async def test_a_stream_shows_nothing_and_gives_back_everything() -> None:
    canary, server = secrets.token_hex(16), Nats()
    server.start()
    try:
        target = f"{server.url}?sync=always"
        sent = delivery(body=canary.encode(), headers=msgspec.json.encode([["x", canary]]))
        journal = JetStreamJournal(target, inbox=INBOX, mac_key=MAC, otherwise=Elsewhere(), seal=Seal([MASTER]))
        await journal.open()
        await journal.record([sent])
        assert files_with(server.folder, b"evt_1")
        assert files_with(server.folder, canary.encode()) == []
        backlog = JetStreamBacklog(target, inbox=INBOX, mac_key=MAC, seal=Seal([MASTER]))
        await backlog.open()
        (taken,) = await backlog.take(9)
        assert list(taken.deliveries) == [sent]
        await backlog.set_aside(taken, "refused")
        assert files_with(server.folder, canary.encode()) == []
        await backlog.close()
        await journal.close()
    finally:
        server.destroy()


async def test_a_message_whose_key_is_missing_waits_alone(caplog: pytest.LogCaptureFixture) -> None:
    """It is offered again, and whoever has its key brings it over."""
    server = Nats()
    server.start()
    try:
        target = f"{server.url}?sync=always"
        for key, master in (("evt_1", OTHER), ("evt_2", OTHER), ("evt_3", MASTER)):
            journal = JetStreamJournal(target, inbox=INBOX, mac_key=MAC, otherwise=Elsewhere(), seal=Seal([master]))
            await journal.open()
            await journal.record([delivery(key)])
            await journal.close()
        lacking = JetStreamBacklog(target, inbox=INBOX, mac_key=MAC, seal=Seal([MASTER]), offered_again_after=1.0)
        await lacking.open()
        found = await until_taken(lacking, 1)
        assert [one.key for one in found] == ["evt_3"]
        assert caplog.text.count("journal_key_missing") == 1
        await lacking.close()
        whole = JetStreamBacklog(target, inbox=INBOX, mac_key=MAC, seal=Seal([MASTER, OTHER]), offered_again_after=1.0)
        await whole.open()
        assert sorted(one.key for one in await until_taken(whole, 2)) == ["evt_1", "evt_2"]
        await whole.close()
    finally:
        server.destroy()


async def until_taken(backlog: JetStreamBacklog, count: int) -> list[Delivery]:
    """So many, all of them acknowledged."""
    found: list[Delivery] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(found) < count:
            taken = await backlog.take(9)
            found += [one for each in taken for one in each.deliveries]
            await backlog.forget(taken)
            await asyncio.sleep(0.05)
    return found
