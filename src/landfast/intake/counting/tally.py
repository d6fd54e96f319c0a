"""Tally: every received request ends as stored, duplicate or rejected. This counts what senders were told.

Counting costs no row per request: totals are kept in memory and reported every second. A crash loses at most that
second of counts, and leaves its boot without a last report, which marks it as unclean. What is stored is counted
elsewhere, by the inbox, in the transactions that store it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from landfast import telemetry
from landfast.domain.census import TOLD, SourceTally, TallyReport
from landfast.domain.errors import StoreError
from landfast.domain.ids import BootId, EventId
from landfast.ports.clock import Clock
from landfast.ports.inbox import Recorder

REPORT_SECONDS = 1.0
"""Seconds between reports: what a crash may cost, in counts."""

HEARTBEAT_SECONDS = 3.0
"""Seconds after which an idle intake reports again: three tries within the 10 s that the inbox waits."""

REDELIVERED_EVENTS = 100_000
"""Distinct events whose redeliveries are counted between two reports. Beyond it (the inbox has been away for long) the
per-event counts stop growing; the totals per source stay exact."""


NOTHING = SourceTally()


class _Counts:
    __slots__ = TOLD

    def __init__(self) -> None:
        self.received = self.stored = self.duplicate = self.rejected = self.elsewhere = self.requests_elsewhere = 0

    def total(self) -> SourceTally:
        return SourceTally(
            self.received, self.stored, self.duplicate, self.rejected, self.elsewhere, self.requests_elsewhere
        )


class Tally:
    def __init__(
        self,
        recorder: Recorder,
        *,
        boot: BootId,
        clock: Clock,
        sources: Iterable[str] = (),
        on_outage: Callable[[], None] = lambda: None,
        meters: Callable[[], Mapping[str, int]] = dict,
    ) -> None:
        self._recorder = recorder
        self._on_outage = on_outage
        self._meters = meters
        self._boot = boot
        self._clock = clock
        # "" is for requests that name no source of ours.
        self._counts = {source: _Counts() for source in ("", *sources)}
        self._largest = 0
        self._redelivered: dict[EventId, int] = {}
        self._reported: dict[str, SourceTally] | None = None
        self._reported_at = 0.0
        self._is_failing = False
        self._flushing = asyncio.Lock()
        self._reports: asyncio.Task[None] | None = None

    def received(self, source: str) -> None:
        self._counts[source].received += 1

    def withdrawn(self, source: str) -> None:
        """A handshake: it was a request, but no delivery, so it is not one of those that must end."""
        self._counts[source].received -= 1

    def stored(self, source: str, events: int = 1, *, known: int = 0, elsewhere: int = 0) -> None:
        """A request brought so many events that were new, and so many that were not. Each is a delivery of its own. Of
        the new ones, so many are durable in a spool or broker, and not in the inbox yet."""
        counts = self._counts[source]
        counts.received += events + known - 1
        counts.stored += events
        counts.duplicate += known
        if elsewhere:
            counts.elsewhere += elsewhere
            counts.requests_elsewhere += 1
            self._largest = max(self._largest, elsewhere)

    def duplicate(self, source: str, events: int = 1) -> None:
        counts = self._counts[source]
        counts.received += events - 1
        counts.duplicate += events

    def rejected(self, source: str) -> None:
        self._counts[source].rejected += 1

    def came_again(self, event: EventId, times: int = 1) -> None:
        counted = self._redelivered.get(event)
        if counted is not None:
            self._redelivered[event] = counted + times
        elif len(self._redelivered) < REDELIVERED_EVENTS:
            self._redelivered[event] = times

    def totals(self) -> dict[str, SourceTally]:
        """Since boot, by source; only sources that had a request."""
        known = self._reported or {}
        totals = {source: counts.total() for source, counts in self._counts.items()}
        return {source: total for source, total in totals.items() if total != NOTHING or source in known}

    def start(self) -> None:
        self._reports = asyncio.create_task(self._report_for_ever())

    async def flush(self, *, ended: bool = False) -> None:
        """Report what changed. A report that fails is not lost: the next one carries the totals again."""
        async with self._flushing:
            totals = self.totals()
            if not (ended or self._redelivered or totals != self._reported or self._is_due()):
                return
            redelivered, self._redelivered = self._redelivered, {}
            # How many events a request has brought at most: a spool and a broker know how many requests they hold.
            largest = {"largest_request": self._largest} if self._largest else {}
            meters = {**self._meters(), **largest}
            report = TallyReport(boot=self._boot, sources=totals, redelivered=redelivered, ended=ended, meters=meters)
            try:
                # Crash before it: this second's counts are missing and the boot stays unclean. After it: nothing, the
                # report holds totals.
                await self._recorder.tally(report)
            except StoreError as error:
                self._keep(redelivered, error)
            else:
                self._reported = totals
                self._reported_at = self._clock.monotonic()
                self._is_failing = False

    async def close(self) -> None:
        """The last report of an orderly stop."""
        if self._reports is not None:
            async with self._flushing:  # so that the reporter is cancelled asleep, never in the middle of a report
                self._reports.cancel()
            await asyncio.wait([self._reports])
        await self.flush(ended=True)

    async def _report_for_ever(self) -> None:
        while True:
            await self.flush()
            await self._clock.sleep(REPORT_SECONDS)

    def _is_due(self) -> bool:
        return self._clock.monotonic() - self._reported_at >= HEARTBEAT_SECONDS

    def _keep(self, redelivered: dict[EventId, int], error: StoreError) -> None:
        for event, times in redelivered.items():
            self.came_again(event, times)
        self._on_outage()
        if not self._is_failing:  # once per outage, not once per second
            telemetry.warn("tally_not_reported", error=error)
        self._is_failing = True
