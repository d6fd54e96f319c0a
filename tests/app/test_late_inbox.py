"""What an intake opens later, because it was away when the intake started."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from landfast.app.late_inbox import BrokerJournal, LateWakeup, open_late_journal
from landfast.domain.errors import ConfigError, InboxUnavailableError, JournalUnavailableError, RowRefusedError
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries
from tests.intake.desk import CountingWakeup, MemoryRecorder
from tests.shops import until


async def test_a_journal_that_needs_an_absent_inbox_refuses_until_it_is_there_and_is_closed_at_the_end(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "landfast")
    journal, answers = MemoryRecorder(), [InboxUnavailableError("away")] * 2 + [ConfigError("stream: wrong")] * 2
    closed = asyncio.Event()
    may_arrive = False

    @asynccontextmanager
    async def opening() -> AsyncIterator[BrokerJournal]:
        if not may_arrive:
            raise answers.pop(0) if len(answers) > 1 else answers[0]
        yield journal
        closed.set()

    async with open_late_journal(opening, ManualClock()) as late:
        with pytest.raises(JournalUnavailableError, match="has not answered"):
            await late.record(deliveries(1))
        await until(lambda: "stream: wrong" in caplog.text, True)
        may_arrive = True
        await until(lambda: "store_opened store=journal" in caplog.text, True)
        await late.record(deliveries(2))
        assert len(journal.events) == 2 and not closed.is_set()
    assert closed.is_set()
    assert caplog.text.count("stream: wrong") == 1


async def test_an_error_that_nobody_expected_does_not_keep_it_from_being_opened_later(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers: list[Exception] = [InboxUnavailableError("away"), RowRefusedError("odd"), OSError(24, "too many files")]

    @asynccontextmanager
    async def opening() -> AsyncIterator[BrokerJournal]:
        if answers:
            raise answers.pop(0)
        yield MemoryRecorder()

    async with open_late_journal(opening, ManualClock()) as late:
        await until(lambda: late.journal is not None, True)
    assert "odd" in caplog.text and "too many files" in caplog.text


async def test_a_journal_that_cannot_be_trusted_is_refused_at_the_start() -> None:
    @asynccontextmanager
    async def opening() -> AsyncIterator[BrokerJournal]:
        check_trust()
        yield MemoryRecorder()

    def check_trust() -> None:
        raise ConfigError("journal: in memory")

    with pytest.raises(ConfigError, match="in memory"):
        async with open_late_journal(opening, ManualClock()):
            pass


async def test_a_late_wakeup_tells_nobody_at_first_and_the_workers_at_once_when_it_can() -> None:
    late, wakeup = LateWakeup(), CountingWakeup()
    late.nudge()
    await late.wait(0)
    await late.become(wakeup)
    assert wakeup.nudges == 1, "what came in meanwhile waits"
    late.nudge()
    assert wakeup.nudges == 2
    await late.close()
