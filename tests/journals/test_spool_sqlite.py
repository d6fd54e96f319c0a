"""A SQLite inbox that cannot be used, and the whole intake around it with a spool: in one process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from landfast.app import Inbox
from landfast.app.journal_chain import examine_spool
from landfast.domain.answer import Answer
from landfast.domain.delivery import Head, Headers
from landfast.domain.errors import ConfigError
from landfast.inboxes.sqlite.connection import SqliteFile
from landfast.intake.receive import Intake
from landfast.journals.mounts import file_system_of
from landfast.recovery.doctor import Level
from landfast.testing.signing import sample, sign
from tests.journals.spools import listing, segments
from tests.shops import until

pytestmark = [pytest.mark.req("R9", "R53")]

SECRET = "whsec_test_of_the_spool"


def inbox_in(folder: Path, **settings: Any) -> Inbox:
    (folder / "landfast.toml").touch()
    given = {"spool": str(folder / "spool"), "spool_anywhere": True, **settings}
    inbox = Inbox(folder / "landfast.toml", store=str(folder / "inbox.db"), ledger=str(folder / "ledger.db"), **given)
    inbox.source("stripe", provider="stripe", secrets=[SECRET])
    return inbox


async def send(intake: Intake, inbox: Inbox, event: str) -> Answer:
    body = sample("stripe", id=event)
    headers = sign("stripe", body, SECRET, now=inbox.clock.now().timestamp())
    head = Head("POST", "/in/stripe", "", Headers((k.encode(), v.encode()) for k, v in headers.items()), len(body))
    return await intake.respond(intake.admit(head), body)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[Inbox, Intake]]:
    inbox = inbox_in(folder)
    async with inbox.intake() as intake:
        yield inbox, intake


def layers(intake: Intake) -> tuple[str, str]:
    told = intake.ready().layers
    return told["inbox"], told["spool"]


async def stored(inbox: Inbox) -> int:
    async with inbox.archive() as archive:
        return (await archive.census()).events


async def test_the_inboxs_file_is_moved_away_and_comes_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as (inbox, intake):
        assert (await send(intake, inbox, "evt_0")).status == 200
        assert intake.ready().is_ready and layers(intake) == ("ok", "ok")
        for name in ("inbox.db", "inbox.db-wal", "inbox.db-shm"):
            (tmp_path / name).rename(tmp_path / f"{name}-moved")
        answers = [await send(intake, inbox, f"evt_{number}") for number in range(1, 8)]
        assert {answer.status for answer in answers} == {200}
        assert {json.loads(answer.body)["status"] for answer in answers} == {"stored"}
        assert segments(tmp_path / "spool"), "it was not away"
        assert intake.ready().is_ready and layers(intake) == ("away", "used")
        for name in ("inbox.db", "inbox.db-wal", "inbox.db-shm"):
            (tmp_path / f"{name}-moved").rename(tmp_path / name)
        await until(lambda: listing(tmp_path / "spool"), [])
        assert (await send(intake, inbox, "evt_1")).body.find(b"duplicate") > 0
    assert await stored(inbox) == 8
    await _counts_are_right(inbox)


async def test_the_inboxs_disk_is_full_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connections: list[apsw.Connection] = []
    connect = SqliteFile._connected

    def watched(file: SqliteFile, flags: int, *, synchronous: str) -> apsw.Connection:
        connections.append(connect(file, flags, synchronous=synchronous))
        return connections[-1]

    monkeypatch.setattr(SqliteFile, "_connected", watched)
    async with opened(tmp_path) as (inbox, intake):
        assert (await send(intake, inbox, "evt_0")).status == 200
        # SQLite's own limit: the same SQLITE_FULL as from a disk without room.
        pages = {connection: connection.pragma("page_count") for connection in connections}
        for connection, count in pages.items():
            connection.pragma("max_page_count", count)
        answers = [await send(intake, inbox, f"evt_{number}") for number in range(1, 60)]
        assert {answer.status for answer in answers} == {200}
        assert segments(tmp_path / "spool"), "it was not full"
        for connection in connections:
            connection.pragma("max_page_count", 2**30)
        await until(lambda: listing(tmp_path / "spool"), [])
    assert await stored(inbox) == 60
    await _counts_are_right(inbox)


async def test_a_stop_keeps_what_is_not_drained_and_waits_for_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as (inbox, intake):
        assert (await send(intake, inbox, "evt_0")).status == 200
        (tmp_path / "inbox.db").rename(tmp_path / "moved")
        for number in range(1, 6):
            assert (await send(intake, inbox, f"evt_{number}")).status == 200
        began = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - began < 10
    assert segments(tmp_path / "spool")
    (tmp_path / "moved").rename(tmp_path / "inbox.db")
    async with opened(tmp_path) as (inbox, intake):
        await until(lambda: listing(tmp_path / "spool"), [])
    assert await stored(inbox) == 6


async def test_meters_say_how_much_waits_and_how_much_ever_went_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as (inbox, intake):
        (tmp_path / "inbox.db").rename(tmp_path / "moved")
        for number in range(5):
            await send(intake, inbox, f"evt_{number}")
        (tmp_path / "moved").rename(tmp_path / "inbox.db")
        await until(lambda: listing(tmp_path / "spool"), [])

        async def meters() -> tuple[int | None, ...]:
            async with inbox.archive() as archive:
                found = (await archive.census()).meters
            return tuple(found.get(name) for name in ("spooled", "spool_records", "spool_bytes"))

        await until(meters, (5, 0, 0))


async def test_a_spool_in_memory_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    if file_system_of(Path("/dev/shm")) != "tmpfs":
        pytest.skip("this machine has no memory file system at /dev/shm")
    inbox = inbox_in(tmp_path, spool="/dev/shm/landfast-spool-that-is-refused", spool_anywhere=False)
    with pytest.raises(ConfigError, match=r"^spool: .* is on tmpfs.*spool_anywhere"):
        async with inbox.intake():
            pass
    assert "landfast-spool-that-is-refused" not in listing(Path("/dev/shm"))
    assert listing(tmp_path) == ["landfast.toml"], "something was made before it was refused"


def test_the_doctor_says_where_it_is_and_what_waits_in_it(tmp_path: Path) -> None:
    inbox = inbox_in(tmp_path)
    if file_system_of(tmp_path) in {"overlay", "tmpfs"}:
        (check,) = examine_spool(inbox.settings)
        assert check.level is Level.WARN and "goes with the machine" in check.found
        return
    (check,) = examine_spool(inbox.settings)
    assert check.level is Level.OK and "nothing waits" in check.found
    assert not (tmp_path / "spool").exists(), "the doctor changes nothing"
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "0000000000001-aa-000001.seg").touch()
    (tmp_path / "spool" / "0000000000001-aa-000001-16.bad").touch()
    waiting, aside = examine_spool(inbox.settings)
    assert waiting.level is Level.WARN and "records wait in" in waiting.found
    assert aside.level is Level.WARN and "1 records are set aside" in aside.found and ".seg" in aside.fix


def test_the_doctor_refuses_a_spool_that_is_a_file(tmp_path: Path) -> None:
    inbox = inbox_in(tmp_path)
    if file_system_of(tmp_path) in {"overlay", "tmpfs"}:
        return
    (tmp_path / "spool").touch()
    (check,) = examine_spool(inbox.settings)
    assert check.level is Level.FAIL and "is a file" in check.found


async def _counts_are_right(inbox: Inbox) -> None:
    async with inbox.archive() as archive:
        census = await archive.census()
    tally = census.tallies["stripe"]
    assert tally.received == tally.stored + tally.duplicate + tally.rejected
    assert tally.stored == census.events == sum(census.states.values())
