"""Taking up what was unhandled, once something can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.unhandled import UnhandledCount
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.processing.registry import Registry

REQUEUE_EVERY = 30.0
"""Seconds: in a rolling deploy an old worker shelves what only the new ones handle, after they have started."""

REQUEUED_AT_ONCE = 500
"""In one transaction, which takes some 10 ms: on SQLite intake's record waits so long for the lock."""

REQUEUED_AT_MOST = 10_000
"""Of one type in one round: what arrives meanwhile queues behind them."""


@dataclass(frozen=True, slots=True)
class Requeue:
    bench: Workbench
    registry: Registry

    async def look_for_ever(self, clock: Clock) -> None:
        while True:
            await self.look()
            await clock.sleep(REQUEUE_EVERY)

    async def look(self) -> None:
        """A rolling deploy must not swallow a new type: what was unhandled is taken up by whoever now handles it, or
        knows that nobody wants it. The counters say which types there are; no event is looked at."""
        try:
            for waiting in await self.bench.unhandled():
                if self.registry.lets_go(waiting.source, waiting.type):
                    await self._take_up(waiting)
        except StoreError as error:
            telemetry.warn("requeue_failed", error=error)

    async def _take_up(self, waiting: UnhandledCount) -> None:
        count, took = 0, REQUEUED_AT_ONCE
        while took == REQUEUED_AT_ONCE and count < REQUEUED_AT_MOST:
            took = await self.bench.requeue(source=waiting.source, type=waiting.type, limit=REQUEUED_AT_ONCE)
            count += took
        if count:
            telemetry.info("requeued", source=waiting.source, type=waiting.type, count=count)
