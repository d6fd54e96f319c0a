"""What lies in a spool or a broker shows nothing, and whoever has the master key brings it into the inbox."""

from __future__ import annotations

import secrets
from pathlib import Path

import msgspec
import pytest

from landfast.domain.errors import SealedError
from landfast.domain.ids import BootId, InboxId
from landfast.journals.jetstream import JetStreamJournal
from landfast.journals.jetstream_backlog import JetStreamBacklog
from landfast.journals.spool import Spool
from landfast.sealing import Seal
from landfast.sealing.seal import SEALED
from landfast.testing.clock import ManualClock
from landfast.testing.factory import delivery
from tests.journals.jetstream_bench import Elsewhere
from tests.nats import Nats
from tests.sealing.scenes import MASTER, OTHER, files_with

INBOX = InboxId(b"i" * 16)
MAC = b"m" * 32


def spool_in(folder: Path, seal: Seal, number: int = 1) -> Spool:
    boot = BootId(number.to_bytes(8))
    return Spool(folder / "spool", boot=boot, clock=ManualClock(), limit=2**24, anywhere=True, seal=seal)


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
    with pytest.raises(SealedError, match="another master key"):
        await wrong.take(9)
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
