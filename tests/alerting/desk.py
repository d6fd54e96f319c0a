"""An inbox, a receiver and the loop of alerts, in a test's hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from landfast.alerting.loop import AlertLoop
from landfast.alerting.plan import Plan
from landfast.alerting.webhook import WebhookSink
from landfast.domain.alerts.volumes import Volume, quarter_of, quarters_wanted
from landfast.domain.ids import BootId
from landfast.domain.rates import Heartbeat, Meter, Rate, minute_of
from landfast.testing.clock import SeededChance
from tests.alerting.receivers import HttpReceiver
from tests.inboxes.sqlite_bench import SqliteBench

SECRET = "whsec_bGFuZGZhc3QgYWxlcnRzIGFyZSBzaWduZWQ="


class Desk:
    """The time is the test's own."""

    def __init__(self, bench: SqliteBench, receiver: HttpReceiver, plan: Plan | None = None) -> None:
        self.bench = bench
        self.inbox = bench.inbox
        self.clock = bench.clock
        self.receiver = receiver
        self.plan = plan or Plan(sinks=(WebhookSink("team", receiver.url, SECRET),))
        self.loop = self.another(0)

    def another(self, seed: int, *, is_standby: bool = False) -> AlertLoop:
        """The loop of another process."""
        return AlertLoop(
            self.inbox, self.plan, self.clock, SeededChance(seed), is_standby=is_standby, store="the test's"
        )

    @property
    def now(self) -> datetime:
        return self.clock.now()

    @property
    def told(self) -> list[tuple[str, str]]:
        """Which notices the receiver got, of which alerts."""
        return [(one.json["kind"], f"{one.json['alert']}/{one.json['subject']}") for one in self.receiver.got]

    async def look(self, *, after: float = 0.0) -> list[tuple[str, str]]:
        """Once; what has been told by then."""
        self.clock.advance(after)
        await self.loop.look()
        await self.loop.courier.finish()
        return self.told

    async def count(self, meter: Meter, count: int, *, ago: int = 0, **key: str) -> None:
        """So many of it, so many minutes ago."""
        at = minute_of(self.now) - timedelta(minutes=ago)
        await self.inbox.add_rates([Rate(at, meter, **key, count=count)])  # type: ignore[arg-type]

    async def usual(self, *counts: tuple[Meter, str, int], silent: timedelta = timedelta(0)) -> None:
        """So many in each quarter of an hour of earlier weeks, and of the last day until it fell silent."""
        quarters = [quarter for quarter in quarters_wanted(self.now) if quarter < quarter_of(self.now)]
        found = [Volume(q, meter, name, count) for q in quarters for meter, name, count in counts]
        await self.inbox.add_volumes(quarters, [one for one in found if one.quarter < self.now - silent])

    async def beat(self, role: str, **doing: Any) -> None:
        at = self.now - timedelta(seconds=doing.pop("late", 0))
        boot = BootId(doing.pop("boot", role.encode().ljust(8, b"-")))
        await self.inbox.beat(Heartbeat(boot, role, "host-a", 1, at, at, doing))


@asynccontextmanager
async def desk(folder: Path, plan: Plan | None = None) -> AsyncIterator[Desk]:
    bench = SqliteBench(folder / "inbox.db")
    await bench.inbox.open()
    await bench.inbox.migrate()
    try:
        async with HttpReceiver().listening() as receiver:
            made = Desk(bench, receiver, plan)
            yield made
            await made.loop.close()
    finally:
        await bench.close()
