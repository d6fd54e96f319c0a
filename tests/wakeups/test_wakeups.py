"""Every wakeup keeps the port's promises: between two ends, and with nobody at the other."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from landfast.domain.ids import InboxId
from landfast.ports.wakeup import Wakeup
from landfast.wakeups.datagram import LISTENERS, DatagramWakeup
from landfast.wakeups.debounce import Debounce
from landfast.wakeups.local import LocalWakeup
from landfast.wakeups.notify import NotifyWakeup
from tests.patience import PATIENCE_SECONDS
from tests.servers import Postgres

INBOX = InboxId(b"i" * 16)
LONG = 2 * PATIENCE_SECONDS
"""Seconds that no test waits out: returning much earlier shows that a nudge was heard."""

KINDS = ["local", "notify", "notify behind a pooler", "abstract datagram", "datagram in a folder"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short name: a socket's path holds 107 bytes, or 103, and pytest's own folders are longer."""
    with tempfile.TemporaryDirectory(prefix="landfast-") as name:
        yield Path(name)


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest, folder: Path) -> Callable[[], Wakeup]:
    """Makes one more end of the same wakeup."""
    if request.param == "local":
        only = LocalWakeup()
        return lambda: only
    inbox = InboxId(os.urandom(16))
    if request.param == "notify":
        dsn = request.getfixturevalue("database")
        return lambda: NotifyWakeup(dsn, inbox)
    if request.param == "notify behind a pooler":
        request.getfixturevalue("database")
        pooled = request.getfixturevalue("pgbouncer").dsn(request.getfixturevalue("database_name"))
        return lambda: NotifyWakeup(pooled, inbox)
    where = folder if request.param == "datagram in a folder" else None
    return lambda: DatagramWakeup(inbox, folder=where)


async def test_a_nudge_ends_the_wait_at_the_other_end(make: Callable[[], Wakeup]) -> None:
    async with _open(make(), make()) as (worker, intake):
        intake.nudge()
        assert await _is_woken(worker)


async def test_a_nudge_while_somebody_waits_ends_the_wait(make: Callable[[], Wakeup]) -> None:
    async with _open(make(), make()) as (worker, intake):
        waiting = asyncio.create_task(_is_woken(worker))
        await asyncio.sleep(0)
        intake.nudge()
        assert await waiting


async def test_every_listener_is_nudged(make: Callable[[], Wakeup]) -> None:
    async with _open(make(), make(), make()) as (one, other, intake):
        waiting = [asyncio.create_task(_is_woken(one)), asyncio.create_task(_is_woken(other))]
        await asyncio.sleep(0)
        intake.nudge()
        assert all(await asyncio.gather(*waiting))


async def test_without_a_nudge_a_wait_ends_by_itself(make: Callable[[], Wakeup]) -> None:
    async with _open(make()) as (worker,):
        await worker.wait(0.01)


async def test_a_nudge_is_heard_once(make: Callable[[], Wakeup]) -> None:
    async with _open(make()) as (worker,):
        worker.nudge()
        assert await _is_woken(worker)
        started = time.monotonic()
        await worker.wait(0.1)
        assert time.monotonic() - started > 0.09


async def test_a_storm_of_nudges_blocks_nobody_and_is_heard(make: Callable[[], Wakeup]) -> None:
    async with _open(make(), make()) as (worker, intake):
        for _ in range(20_000):
            intake.nudge()
        assert await _is_woken(worker)


async def test_before_it_is_opened_and_after_it_is_closed_a_nudge_is_quiet(make: Callable[[], Wakeup]) -> None:
    wakeup = make()
    wakeup.nudge()
    await wakeup.open()
    await wakeup.close()
    await wakeup.close()
    wakeup.nudge()


async def test_a_storm_becomes_one_message_now_and_one_afterwards() -> None:
    sent: list[float] = []
    debounce = Debounce(lambda: sent.append(time.monotonic()))
    for _ in range(1000):
        debounce.ask()
    assert len(sent) == 1
    await _until(lambda: len(sent) == 2)
    assert sent[1] - sent[0] >= 0.004
    debounce.stop()


async def test_notify_without_a_server_is_quiet_and_its_waits_end(folder: Path) -> None:
    wakeup = NotifyWakeup(f"postgresql://nobody@/none?host={folder}", INBOX)
    await wakeup.open()
    wakeup.nudge()
    await wakeup.wait(0.05)
    await wakeup.close()


async def test_notify_hears_again_after_the_server_was_lost(postgres: Postgres, database: str) -> None:
    async with _open(NotifyWakeup(database, INBOX), NotifyWakeup(database, INBOX)) as (worker, intake):
        postgres.stop()
        try:
            intake.nudge()
            await worker.wait(0.01)
        finally:
            postgres.start()
        await _until(lambda: len(_connected(postgres)) == 2)
        await worker.wait(0.2)  # both look once when they are connected again
        intake.nudge()
        assert await _is_woken(worker)


async def test_notify_connects_again_when_its_backend_is_killed(postgres: Postgres, database: str) -> None:
    async with _open(NotifyWakeup(database, INBOX)):
        (before,) = _connected(postgres)
        postgres.execute(f"SELECT pg_terminate_backend({before})")
        await _until(lambda: bool(_connected(postgres) - {before}))


async def test_more_listeners_than_seats_fall_back_to_polling() -> None:
    inbox = InboxId(os.urandom(16))
    async with _open(*(DatagramWakeup(inbox) for _ in range(LISTENERS + 1))) as wakeups:
        wakeups[-1].nudge()
        assert await _is_woken(wakeups[0])
        await wakeups[-1].wait(0.01)


async def test_two_inboxes_on_one_host_do_not_wake_each_other(folder: Path) -> None:
    async with _open(*(DatagramWakeup(InboxId(os.urandom(16)), folder=folder) for _ in range(2))) as (one, other):
        one.nudge()
        assert await _is_woken(one)
        started = time.monotonic()
        await other.wait(0.05)
        assert time.monotonic() - started > 0.04


async def test_the_file_of_a_killed_process_is_taken_over_and_a_living_one_is_not(folder: Path) -> None:
    inbox = InboxId(bytes(16))
    left = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    left.bind(f"{folder}/landfast-{inbox.hex()}-0")
    left.close()
    async with _open(DatagramWakeup(inbox, folder=folder), DatagramWakeup(inbox, folder=folder)) as (one, other):
        assert _files(folder) == 2
        other.nudge()
        assert await _is_woken(one)
    assert _files(folder) == 0


@asynccontextmanager
async def _open(*wakeups: Wakeup) -> AsyncIterator[tuple[Wakeup, ...]]:
    async with AsyncExitStack() as stack:
        for wakeup in wakeups:
            stack.push_async_callback(wakeup.close)
            await wakeup.open()
            if isinstance(wakeup, NotifyWakeup):  # it rings once when it listens: from there on only nudges do
                await wakeup.wait(LONG)
        yield wakeups


async def _is_woken(wakeup: Wakeup) -> bool:
    started = time.monotonic()
    await wakeup.wait(LONG)
    return time.monotonic() - started < LONG / 2


def _connected(postgres: Postgres) -> set[str]:
    found = postgres.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'landfast wakeup'")
    return set(found.split())


def _files(folder: Path) -> int:
    return len(list(folder.iterdir()))


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not is_so():
            await asyncio.sleep(0.02)
