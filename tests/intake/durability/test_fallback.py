"""The fallback: senders see the same 200 while the inbox is away, down, full or slow."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from landfast.domain.census import SourceTally
from landfast.domain.errors import PartUnavailableError, RowRefusedError
from landfast.intake.durability import fallback as fallback_module
from landfast.intake.durability.drain import Drainer
from landfast.intake.durability.fallback import Alone, Fallback
from landfast.intake.durability.outage import Outage
from landfast.journals import spool as spool_module
from landfast.journals.spool import Spool
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries
from tests.intake.desk import Desk, MemoryRecorder, body
from tests.journals.spools import EIO, ENOSPC, MEBIBYTE, BrokenFiles, opened
from tests.patience import PATIENCE_SECONDS

pytestmark = [pytest.mark.req("R9", "R53")]


@dataclass
class Scene:
    desk: Desk
    inbox: MemoryRecorder
    spool: Spool
    files: BrokenFiles
    outage: Outage
    fallback: Fallback
    drainer: Drainer

    @property
    def clock(self) -> ManualClock:
        return self.desk.clock

    def where(self) -> str:
        return self.fallback.where

    async def drain(self, steps: int = 20) -> None:
        for _ in range(steps):
            self.clock.advance(await self.drainer.step())


@asynccontextmanager
async def scene(folder: Path, *, limit: int = 64 * MEBIBYTE) -> AsyncIterator[Scene]:
    desk, files = Desk(), BrokenFiles()
    async with opened(folder, limit=limit, files=files, clock=desk.clock) as spool:
        outage = Outage(desk.clock, on_begin=desk.seen.clear, waiting=lambda: spool.waiting)
        fallback = Fallback(desk.recorder, spool, outage=outage, clock=desk.clock)
        drainer = Drainer(spool, desk.recorder, clock=desk.clock, outage=outage)
        desk.group._journal = fallback
        yield Scene(desk, desk.recorder, spool, files, outage, fallback, drainer)
        await fallback.close()


async def test_while_the_inbox_answers_the_spool_is_not_touched(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        assert (await it.desk.deliver(body())).status == 200
        assert it.spool.meters()["spooled"] == 0
        assert it.where() == "inbox"


async def test_while_it_is_away_senders_see_the_same_200_and_then_all_of_it_is_there(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    async with scene(tmp_path) as it:
        before = await it.desk.deliver(body(0))
        it.inbox.is_down = True
        answers = [await it.desk.deliver(body(number)) for number in range(1, 30)]
        assert {answer.status for answer in answers} == {200}
        assert {json.loads(answer.body)["status"] for answer in [before, *answers]} == {"stored"}
        assert it.where() == "spool"
        assert len(it.inbox.batches) == 2, "during an outage no sender waits for the inbox"
        assert it.spool.waiting == 29
        it.inbox.is_down = False
        await it.drain()
        assert len(it.inbox.events) == 30 and it.spool.waiting == 0
        assert it.where() == "inbox"
        assert it.desk.count() == SourceTally(30, 30, elsewhere=29, requests_elsewhere=29)
    assert caplog.text.count("store_unavailable store=inbox") == 1
    assert "store_available store=inbox waiting=9" in caplog.text, "found out with twenty of them"


async def test_a_storm_during_an_outage_is_one_record_in_the_spool(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        for _ in range(50):
            assert (await it.desk.deliver(body())).status == 200
        assert it.spool.waiting == 1
        assert it.desk.count() == SourceTally(50, 1, 49, elsewhere=1, requests_elsewhere=1)


async def test_what_was_seen_before_the_outage_is_not_a_duplicate_in_it(tmp_path: Path) -> None:
    """The inbox may come back older than it was: restored from a backup."""
    async with scene(tmp_path) as it:
        await it.desk.deliver(body())
        it.inbox.is_down = True
        await it.desk.deliver(body(2))
        await it.desk.deliver(body())
        assert it.spool.waiting == 2
        it.inbox.events.clear()
        it.inbox.is_down = False
        await it.drain()
        assert len(it.inbox.events) == 2


async def test_an_inbox_that_hangs_costs_its_budget_once_and_what_it_committed_late_is_not_doubled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_module, "AWAY_AFTER_SECONDS", 0.05)
    async with scene(tmp_path) as it:
        it.inbox.gate.clear()
        answers = [await it.desk.deliver(body(number)) for number in range(10)]
        assert {answer.status for answer in answers} == {200}
        assert len(it.inbox.batches) == 1, "only the first waited"
        assert it.spool.waiting == 10
        await it.fallback.close()
        it.inbox.gate.set()
        # As if the first batch had arrived after all.
        await it.inbox.record(it.inbox.batches[0])
        await it.drain()
        assert len(it.inbox.events) == 10 and it.spool.waiting == 0
        told = SourceTally(10, 10, elsewhere=10, requests_elsewhere=10)
        assert it.desk.count() == told, "what senders were told does not change afterwards"


async def test_where_the_spool_fails_too_the_answer_is_503_and_the_next_batch_tries_the_inbox(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        it.files.always("sync", EIO)
        answers = [await it.desk.deliver(body(number)) for number in range(3)]
        assert it.files.fired
        assert {answer.status for answer in answers} == {503}
        assert all(dict(answer.headers)[b"retry-after"] for answer in answers)
        assert it.where() == "nothing"
        it.inbox.is_down = False
        it.clock.advance(60)
        # Nothing to drain, so nobody else finds out that it is back.
        assert (await it.desk.deliver(body())).status == 200
        assert it.where() == "inbox" and len(it.inbox.events) == 1


async def test_a_spool_that_failed_is_not_said_to_for_ever_or_nobody_would_send_and_find_out(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        it.files.always("sync", EIO)
        assert (await it.desk.deliver(body(1))).status == 503
        assert it.where() == "nothing"
        it.files.heal()
        it.clock.advance(fallback_module.FAILED_READINESS_SECONDS)
        assert it.where() == "spool"
        assert (await it.desk.deliver(body(1))).status == 200


async def test_a_full_spool_answers_503_and_loses_nothing_that_it_has(tmp_path: Path) -> None:
    async with scene(tmp_path, limit=MEBIBYTE) as it:
        it.inbox.is_down = True
        assert (await it.desk.deliver(body(1))).status == 200
        await it.fallback.record(deliveries(1, body=b"x" * (MEBIBYTE - 1500)))
        refused = [await it.desk.deliver(body(number)) for number in (2, 3, 4)]
        assert {answer.status for answer in refused} == {503}
        assert all(dict(answer.headers)[b"retry-after"] for answer in refused)
        assert it.spool.waiting == 2
        it.inbox.is_down = False
        await it.drain()
        assert len(it.inbox.events) == 2
        assert (await it.desk.deliver(body(2))).status == 200


async def test_a_row_that_the_inbox_refuses_does_not_go_to_the_spool(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        it.inbox.poison = b'"evt_1"'
        assert (await it.desk.deliver(body(1))).status == 500
        assert it.spool.waiting == 0
        with pytest.raises(RowRefusedError):
            await it.fallback.record(deliveries(1, body=b'"evt_1"'))


async def test_what_the_broker_cannot_hold_while_the_inbox_is_away_goes_to_the_spool_with_its_neighbours(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as it:
        it.inbox.bug = PartUnavailableError("too large", events=frozenset([deliveries(2)[0].event_id]))
        assert len(await it.fallback.record(deliveries(2))) == it.spool.waiting == 2


async def test_live_deliveries_go_to_the_inbox_while_the_backlog_is_still_draining(tmp_path: Path) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        await asyncio.gather(*(it.desk.deliver(body(number)) for number in range(20)))
        await it.fallback.record(deliveries(600))
        it.inbox.is_down = False
        it.clock.advance(60)
        await it.drainer.step()
        assert it.where() == "inbox" and it.spool.waiting
        await it.desk.deliver(body(1000))
        assert any(b'"evt_1000"' in each.body for each in it.inbox.events.values())
        await it.drain()
        assert len(it.inbox.events) == 621


async def test_a_record_that_is_stuck_in_a_failing_spool_keeps_nobody_from_an_inbox_that_is_back(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        assert (await it.desk.deliver(body(1))).status == 200
        it.files.breaks = lambda name, _nth: ENOSPC if name in {"create", "write"} else None
        await it.spool.set_aside((await it.spool.take(1))[0], "refused")
        assert it.files.fired and it.spool.waiting == 1, "it could not be set aside, and is not taken again"
        assert (await it.desk.deliver(body(2))).status == 503
        it.inbox.is_down = False
        it.clock.advance(60)
        await it.drain()
        assert (await it.desk.deliver(body(3))).status == 200
        assert it.where() == "inbox"


async def test_a_drainer_that_stumbles_keeps_nobody_from_an_inbox_that_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        assert (await it.desk.deliver(body(1))).status == 200

        async def bug(_limit: int) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as broken:
            broken.setattr(it.spool, "take", bug)
            await it.drain()
            asked = len(it.inbox.batches)
            answers = [await it.desk.deliver(body(number)) for number in range(2, 12)]
            assert {answer.status for answer in answers} == {200}
            assert len(it.inbox.batches) == asked + 1, "one of them finds out that it is still away"
            it.inbox.is_down = False
            await it.drain()
            assert (await it.desk.deliver(body(12))).status == 200
            assert it.where() == "inbox" and len(it.inbox.events) == 1
        await it.drain()
        assert len(it.inbox.events) == 12 and it.spool.waiting == 0
        it.inbox.is_down = True
        assert [(await it.desk.deliver(body(number))).status for number in (13, 14)] == [200, 200]
        it.clock.advance(60)
        asked = len(it.inbox.batches)
        assert (await it.desk.deliver(body(15))).status == 200
        assert len(it.inbox.batches) == asked, "no sender waits for the inbox any more: the drainer asks"


async def test_while_one_sender_finds_out_for_a_drainer_that_stumbles_no_other_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_module, "AWAY_AFTER_SECONDS", PATIENCE_SECONDS)
    async with scene(tmp_path) as it:
        it.inbox.is_down = True
        await it.fallback.record(deliveries(1))

        async def bug(_limit: int) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(it.spool, "take", bug)
        await it.drain()
        it.inbox.gate.clear()
        asked = len(it.inbox.batches)
        asking = asyncio.create_task(it.fallback.record(deliveries(1, prefix="asks")))
        while len(it.inbox.batches) == asked:
            await asyncio.sleep(0)
        await it.drain()
        await it.fallback.record(deliveries(1, prefix="next"))
        assert len(it.inbox.batches) == asked + 1 and not asking.done()
        it.inbox.gate.set()
        await asking


async def test_a_spool_that_hangs_keeps_nobody_from_an_inbox_that_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool_module, "BATCH_SECONDS", 0.05)
    async with scene(tmp_path) as it:
        gate = threading.Event()
        monkeypatch.setattr(it.files, "sync", lambda _descriptor: gate.wait(PATIENCE_SECONDS))
        it.inbox.is_down = True
        draining = None
        try:
            assert (await it.desk.deliver(body(1))).status == 503
            it.clock.advance(60)
            draining = asyncio.create_task(it.drainer.step())
            await asyncio.sleep(0)
            it.inbox.is_down = False
            assert (await it.desk.deliver(body(2))).status == 200
            assert not draining.done(), "the drainer hangs with its disk"
        finally:
            gate.set()
            if draining is not None:
                await draining


async def test_without_a_spool_it_is_known_that_nothing_is_taken_in_and_found_out_again_when_something_is() -> None:
    desk = Desk()
    alone = Alone(desk.recorder, clock=desk.clock, name="journal")
    desk.group._journal = alone

    def where() -> str:
        return alone.where

    assert where() == "journal"
    desk.recorder.is_down = True
    assert (await desk.deliver(body())).status == 503
    assert where() == "nothing"
    desk.clock.advance(fallback_module.FAILED_READINESS_SECONDS)
    assert where() == "journal", "a load balancer must try again some time"
    assert (await desk.deliver(body())).status == 503
    desk.recorder.is_down = False
    assert (await desk.deliver(body())).status == 200
    assert where() == "journal"
