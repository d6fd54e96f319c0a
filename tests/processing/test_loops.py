"""The loops of a worker end when they are cancelled, or the worker ends without them and says so."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from landfast.domain.errors import LoopEndedError
from landfast.domain.event import Event
from landfast.domain.verdict import GiveUp
from landfast.ledgers.postgres.wire import AsyncpgWire
from landfast.ledgers.sqlite.transaction import SqliteTransaction
from landfast.processing.control import loops as loops_module
from landfast.processing.control.loops import Loops
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import Shop


async def swallows(cancellations: int) -> None:
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancellations -= 1
            if cancellations < 0:
                raise


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops_module, "CANCEL_EVERY_SECONDS", 0.1)


@pytest.mark.req("R24")
async def test_a_loop_that_swallows_a_cancellation_is_cancelled_again() -> None:
    loops = Loops(lambda: False)
    task = loops.start("hand", swallows(1))
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await loops.cancel()
    assert task.cancelled()


@pytest.mark.req("R24")
async def test_a_loop_that_swallows_every_cancellation_does_not_keep_its_worker(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loops = Loops(lambda: False)
    stuck = loops.start("hand", swallows(loops_module.CANCELS_AT_MOST))
    well = loops.start("requeue", swallows(0))
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            with pytest.raises(LoopEndedError, match="the worker's hand was cancelled 3 times and does not end"):
                await loops.cancel()
    finally:
        while not stuck.done():  # or the test would not end either
            stuck.cancel()
            await asyncio.sleep(0)
    assert "worker_loop_does_not_end" in caplog.text
    assert well.cancelled()


@pytest.mark.req("R24")
async def test_a_worker_that_fails_during_the_commit_of_a_tombstone_ends(
    live: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hand is cancelled inside of that COMMIT, and must not take it for an outage of the ledger."""
    on_sqlite = live.store == "sqlite"
    owner: Any = SqliteTransaction if on_sqlite else AsyncpgWire
    name = "_finish" if on_sqlite else "tell_last"
    send, bury = getattr(owner, name), live.ledger.bury
    buries, inside = asyncio.Event(), asyncio.Event()

    async def slow_commit(*arguments: Any) -> Any:
        if buries.is_set() and not inside.is_set():
            inside.set()
            await asyncio.Event().wait()  # the disk, until the cancellation comes
        return await send(*arguments)

    async def burying(*arguments: Any, **options: Any) -> Any:
        buries.set()
        return await bury(*arguments, **options)

    monkeypatch.setattr(owner, name, slow_commit)
    monkeypatch.setattr(live.ledger, "bury", burying)

    @live.on()
    async def give_up(event: Event, tx: Any) -> None:
        raise GiveUp("no")

    monkeypatch.setattr(loops_module, "CANCEL_EVERY_SECONDS", 5.0)
    monkeypatch.setattr(loops_module, "CANCELS_AT_MOST", 1)
    await live.deliver("a")
    working = asyncio.create_task(live.worker().run())
    async with asyncio.timeout(PATIENCE_SECONDS):
        await inside.wait()
        [victim] = [task for task in asyncio.all_tasks() if task.get_name() == "landfast requeue"]
        victim.cancel()
        with pytest.raises(LoopEndedError, match="requeue was cancelled by somebody else"):
            await working
