"""Taking up what was unhandled, once something can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.unhandled import UnhandledCount
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.processing.handlers.registry import Registry

REQUEUE_EVERY_SECONDS = 30.0
"""Seconds: in a rolling deploy an old worker shelves what only the new ones handle, after they have started."""

REQUEUE_BATCH_EVENTS = 500
"""One transaction takes up so many, in some 10 ms. On SQLite intake waits that long for the lock."""

REQUEUE_ROUND_EVENTS = 10_000
"""Of one type in one round: what arrives meanwhile queues behind them."""


@dataclass(frozen=True, slots=True)
class Requeue:
    bench: Workbench
    registry: Registry

    async def look_for_ever(self, clock: Clock) -> None:
        while True:
            await self.look()
            await clock.sleep(REQUEUE_EVERY_SECONDS)

    async def look(self) -> None:
        """A rolling deploy must not swallow a new type: this worker takes up what was unhandled and has a handler now,
        or what nobody wants. The counters say which types there are; no event is looked at."""
        try:
            for waiting in await self.bench.unhandled():
                if self.registry.lets_go(waiting.source, waiting.type):
                    await self._take_up(waiting)
        except StoreError as error:
            telemetry.warn("requeue_failed", error=error)

    async def _take_up(self, waiting: UnhandledCount) -> None:
        count, took = 0, REQUEUE_BATCH_EVENTS
        while took == REQUEUE_BATCH_EVENTS and count < REQUEUE_ROUND_EVENTS:
            took = await self.bench.requeue(source=waiting.source, type=waiting.type, limit=REQUEUE_BATCH_EVENTS)
            count += took
        if count:
            telemetry.info("requeued", source=waiting.source, type=waiting.type, count=count)
