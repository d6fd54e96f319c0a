"""What a process tells of itself, and what becomes of it when the inbox does not answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from landfast.app.reporting import Reporter
from landfast.domain.errors import InboxUnavailableError
from landfast.domain.metering import Meters
from landfast.domain.rates import Meter, Rate
from landfast.inboxes.sqlite import SqliteInbox
from landfast.testing.clock import ManualClock, SeededChance


class Mute(SqliteInbox):
    """Writes, and then says that it did not answer."""

    is_mute = False

    async def add_rates(self, rates: Sequence[Rate], *, report: int | None = None) -> None:
        await super().add_rates(rates, report=report)
        if self.is_mute:
            raise InboxUnavailableError("it did not answer")


@pytest.fixture
async def inbox(tmp_path: Path) -> Mute:
    inbox = Mute(tmp_path / "inbox.db", clock=ManualClock(), chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    return inbox


async def test_a_report_whose_answer_was_lost_is_told_again_and_counted_once(
    inbox: Mute, caplog: pytest.LogCaptureFixture
) -> None:
    clock, meters = ManualClock(), Meters()
    reporter = Reporter(inbox, meters, boot=inbox.boot, role="intake", clock=clock)
    began = clock.now() - timedelta(minutes=1)
    inbox.is_mute = True
    for _ in range(3):
        meters.count(Meter.STORED, "shop", "order.paid", seconds=0.01)
        await reporter.report()
        clock.advance(1)
    assert [record.getMessage() for record in caplog.records] == ['rates_not_reported error="it did not answer"']
    inbox.is_mute = False
    await reporter.report()
    (rate,) = await inbox.rates(began)
    assert (rate.count, sum(rate.histogram)) == (3, 3)
    await inbox.close()


async def test_it_says_that_it_is_alive_and_leaves_in_order(inbox: Mute) -> None:
    clock = ManualClock()
    doing = {"in_hand": [{"handler": "create_order", "since": 1.5}]}
    reporter = Reporter(inbox, Meters(), boot=inbox.boot, role="worker", clock=clock, doing=lambda: doing)
    await reporter.report()
    (heartbeat,) = await inbox.heartbeats()
    assert (heartbeat.role, heartbeat.doing, heartbeat.is_alive) == ("worker", doing, True)
    await reporter.close()
    assert list(await inbox.heartbeats()) == []
    await inbox.close()


async def test_whatever_goes_wrong_in_it_the_process_goes_on(inbox: Mute, caplog: pytest.LogCaptureFixture) -> None:
    def broken() -> dict[str, object]:
        raise OSError("no such disk")

    reporter = Reporter(inbox, Meters(), boot=inbox.boot, role="worker", clock=ManualClock(), doing=broken)
    await reporter.report()
    assert caplog.records[0].getMessage().startswith("reporting_failed")
    await inbox.close()
    await reporter.report()
    await reporter.close()
