"""Reporting: what each process tells the inbox of itself. Rates every second, a heartbeat every few seconds, and now
and then the clean-up of both."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from landfast import telemetry
from landfast.domain.errors import RowRefusedError, StoreError
from landfast.domain.ids import BootId
from landfast.domain.metering import Meters
from landfast.domain.rates import BEAT_SECONDS, Heartbeat, Rate, Rejection, minute_of, summed
from landfast.ports.clock import Clock
from landfast.ports.rates import Rates

REPORT_SECONDS = 1.0
"""Between two reports: what a crash may cost, in counts."""

FOLD_SECONDS = 60.0
"""Between two looks for what is old: a minute's worth of rows becomes old in each of them."""

WAITING_ROWS_AT_MOST = 20_000
"""Kept while the inbox is away: some hours of a usual process. Then the oldest are let go of."""

ROWS_AT_ONCE = 5_000
"""Of one report: after an outage there may be more."""

LAST_WORD_SECONDS = 1.0
"""For the last report of a process that stops while the inbox is away."""


class Refusals(Protocol):
    """Who has rejections to tell."""

    def take(self) -> list[Rejection]: ...

    def keep(self, rejections: list[Rejection]) -> None: ...


class Reporter:
    def __init__(
        self,
        inbox: Rates,
        meters: Meters,
        *,
        boot: BootId,
        role: str,
        clock: Clock,
        doing: Callable[[], Mapping[str, Any]] = dict,
        gather: Callable[[], None] = lambda: None,
        refusals: Refusals | None = None,
    ) -> None:
        """`gather` is called before each report: to count what is counted elsewhere already."""
        self._inbox = inbox
        self._meters = meters
        self._boot = boot
        self._role = role
        self._clock = clock
        self._doing = doing
        self._gather = gather
        self._refusals = refusals
        self._started_at = self._since = clock.now()
        self._number = 0
        self._sending: list[Rate] = []
        """Under this number: told until an answer comes, and never changed."""
        self._waiting: list[Rate] = []
        self._beats_at = clock.monotonic()
        self._folds_at = self._beats_at + FOLD_SECONDS
        self._is_failing = False
        self._running: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._running = asyncio.create_task(self._report_for_ever())

    async def report(self) -> None:
        """Whatever goes wrong is tried again: nothing but knowledge depends on it."""
        try:
            self._collect()
            await self._send()
            await self._tell_rejections()
            await self._beat()
            await self._fold()
            self._is_failing = False
        except StoreError as error:
            if not self._is_failing:  # once per outage, not once per second
                telemetry.warn("rates_not_reported", error=error)
            self._is_failing = True
        except Exception as error:  # noqa: BLE001 - a process that counts wrongly goes on taking in and processing
            telemetry.error("reporting_failed", trace=error)

    async def close(self) -> None:
        """The last report of an orderly stop."""
        if self._running is not None:
            # In the middle of a report it may be told again: its number stays the same.
            self._running.cancel()
            await asyncio.wait([self._running])
        with suppress(TimeoutError, StoreError):
            async with asyncio.timeout(LAST_WORD_SECONDS):
                self._collect()
                await self._send()
                await self._tell_rejections()
                await self._inbox.leave(self._boot)

    async def _report_for_ever(self) -> None:
        while True:
            await self.report()
            await self._clock.sleep(REPORT_SECONDS)

    def _collect(self) -> None:
        self._gather()
        # A report that lies in two minutes counts for the first: it is a second long.
        taken = self._meters.take(minute_of(self._since))
        self._since = self._clock.now()
        if taken:
            self._waiting = summed([*self._waiting, *taken])[-WAITING_ROWS_AT_MOST:]

    async def _send(self) -> None:
        while self._sending or self._waiting:
            if not self._sending:
                self._number += 1
                self._sending, self._waiting = self._waiting[:ROWS_AT_ONCE], self._waiting[ROWS_AT_ONCE:]
            try:
                # Crash before it: this second's counts are missing. After it, without its answer: told again under the
                # same number, and not added again.
                await self._inbox.add_rates(self._sending, report=self._number)
            except RowRefusedError as error:  # told again it would be refused again
                telemetry.warn("rates_not_reported", error=error)
            self._sending = []

    async def _tell_rejections(self) -> None:
        if self._refusals is None:
            return
        told = self._refusals.take()
        try:
            await self._inbox.add_rejections(told)
        except RowRefusedError as error:  # told again they would be refused again
            telemetry.warn("rates_not_reported", error=error)
        except StoreError:
            self._refusals.keep(told)
            raise

    async def _beat(self) -> None:
        now = self._clock.monotonic()
        if now < self._beats_at:
            return
        self._beats_at = now + BEAT_SECONDS
        identity = (self._boot, self._role, socket.gethostname(), os.getpid())
        await self._inbox.beat(Heartbeat(*identity, self._started_at, self._clock.now(), self._doing()))

    async def _fold(self) -> None:
        now = self._clock.monotonic()
        if now >= self._folds_at:
            has_more = await self._inbox.fold_rates()
            self._folds_at = now if has_more else now + FOLD_SECONDS


@asynccontextmanager
async def reporting(reporter: Reporter) -> AsyncIterator[None]:
    """While it is open, it reports."""
    reporter.start()
    try:
        yield
    finally:
        await reporter.close()
