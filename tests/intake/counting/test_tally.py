"""Counting: exact totals, reported each second, kept through an outage."""

from __future__ import annotations

import asyncio
import logging

import pytest

from landfast.domain.census import SourceTally, TallyReport
from landfast.domain.ids import BootId, EventId
from landfast.intake.counting import tally as tally_module
from landfast.intake.counting.tally import Tally
from landfast.testing.clock import ManualClock
from tests.intake.desk import Desk, MemoryRecorder, body

EVENT = EventId(b"e" * 16)


async def test_a_report_carries_totals_since_boot_and_redeliveries_since_the_last_report() -> None:
    desk = Desk()
    await desk.deliver(body())
    await desk.deliver(body())
    await desk.tally.flush()
    await desk.deliver(body())
    await desk.tally.flush()
    first, second = desk.recorder.reports
    assert first.sources == {"stripe": SourceTally(2, 1, 1, 0)}
    assert second.sources == {"stripe": SourceTally(3, 1, 2, 0)}
    assert list(first.redelivered.values()) == list(second.redelivered.values()) == [1]
    assert not second.ended


async def test_an_idle_intake_reports_its_boot_and_then_every_3_seconds_that_it_is_there() -> None:
    desk = Desk()
    for _ in range(7):
        await desk.tally.flush()
        desk.clock.advance(1)
    assert desk.recorder.reports == [TallyReport(BootId(b"boot-one"), {}, {})] * 3


async def test_a_failed_report_keeps_its_counts_for_the_next_and_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "landfast")
    desk = Desk()
    await desk.deliver(body())
    await desk.deliver(body())
    desk.recorder.is_down = True
    await desk.tally.flush()
    await desk.deliver(body())
    await desk.tally.flush()
    assert caplog.text.count("tally_not_reported") == 1
    desk.recorder.is_down = False
    await desk.tally.flush()
    (report,) = desk.recorder.reports
    assert list(report.redelivered.values()) == [2]
    assert report.sources == {"stripe": SourceTally(3, 1, 2, 0)}


async def test_the_map_of_redelivered_events_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally_module, "REDELIVERED_EVENTS", 2)
    recorder = MemoryRecorder()
    tally = Tally(recorder, boot=BootId(b"boot-one"), clock=ManualClock())
    for name in (b"a", b"b", b"c", b"a"):
        tally.came_again(EventId(name * 16))
    await tally.flush()
    assert recorder.reports[0].redelivered == {EventId(b"a" * 16): 2, EventId(b"b" * 16): 1}


class TurnstileClock(ManualClock):
    """Each sleep ends when the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep: asyncio.Queue[tuple[float, asyncio.Event]] = asyncio.Queue()

    async def sleep(self, seconds: float) -> None:
        turn = asyncio.Event()
        self.asleep.put_nowait((seconds, turn))
        await turn.wait()


async def test_reports_go_out_every_second_and_the_last_one_says_that_it_is() -> None:
    clock, recorder = TurnstileClock(), MemoryRecorder()
    tally = Tally(recorder, boot=BootId(b"boot-one"), clock=clock, sources=["stripe"])
    tally.start()
    seconds, turn = await clock.asleep.get()
    assert seconds == 1.0 and len(recorder.reports) == 1
    tally.received("stripe")
    tally.rejected("stripe")
    turn.set()
    await clock.asleep.get()
    assert recorder.reports[-1].sources == {"stripe": SourceTally(1, 0, 0, 1)}
    await tally.close()
    assert [report.ended for report in recorder.reports] == [False, False, True]


async def test_a_last_report_that_fails_leaves_the_boot_unclean_and_raises_nothing() -> None:
    recorder = MemoryRecorder()
    recorder.is_down = True
    await Tally(recorder, boot=BootId(b"boot-one"), clock=ManualClock()).close()
    assert recorder.reports == []
