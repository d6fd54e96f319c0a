"""Tell the inbox what came of things: in batches, off the handlers' path.

Crash before a settlement is written: the lease expires, the next claim finds the receipt and only settles. After it:
nothing is left to do. So a settlement may wait, and may be lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from landfast import telemetry
from landfast.domain.errors import RowRefusedError, StoreError
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.processing.control.leases import Leases
from landfast.processing.parking import Parking

UNSETTLED_AT_MOST = 5_000
"""Settlements held back while the inbox is away; beyond it the hands wait too, and memory stays bounded."""

SETTLE_BATCH_EVENTS = 500


class Settler:
    def __init__(
        self,
        bench: Workbench,
        clock: Clock,
        leases: Leases,
        parking: Parking,
        went_on: Callable[[], None] = lambda: None,
    ) -> None:
        """`went_on` is called where a lane may have gone on: what comes next in it is ready."""
        self._went_on = went_on
        self._bench = bench
        self._parking = parking
        self._clock = clock
        self._leases = leases
        self._waiting: list[Settlement] = []
        self._changed = asyncio.Event()
        self._stopping = False
        self._closing = False

    async def submit(self, settlements: Sequence[Settlement]) -> None:
        """Take these; return when there is room for more, or at the stop."""
        self.add(settlements)
        await self._until(lambda: len(self._waiting) < UNSETTLED_AT_MOST or self._stopping)

    def add(self, settlements: Sequence[Settlement]) -> None:
        self._waiting.extend(settlements)
        self._tell()

    async def flush(self) -> None:
        """Return when everything submitted so far is written, or at the stop."""
        await self._until(lambda: not self._waiting or self._stopping)

    async def run(self) -> None:
        """Write batches until `close`; then what is left, once."""
        self._closing = False
        while True:
            await self._until(lambda: bool(self._waiting) or self._closing)
            batch = self._waiting[:SETTLE_BATCH_EVENTS]
            if not batch:
                return
            try:
                await self._write(batch)
            except RowRefusedError as error:
                await self._write_each(batch, error)
            except StoreError as error:
                telemetry.warn("settle_delayed", count=len(batch), error=error)
                if self._closing:
                    return
                await self._clock.sleep(0.5)
                continue
            if any(settlement.lane is not None and settlement.moves_its_lane for settlement in batch):
                self._went_on()
            for token, count in Counter(settlement.token for settlement in batch).items():
                self._leases.gave_back(token, count)
            del self._waiting[: len(batch)]
            self._tell()

    def stop(self) -> None:
        """Nobody waits for an inbox that is away any more: what is not settled is found by its receipt."""
        self._stopping = True
        self._tell()

    def close(self) -> None:
        """Nothing more will be submitted."""
        self._closing = True
        self._tell()

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            await self._changed.wait()

    def _tell(self) -> None:
        # This wakes all that wait now. What waits later waits for the next change.
        self._changed.set()
        self._changed.clear()

    async def _write_each(self, batch: Sequence[Settlement], error: StoreError) -> None:
        """One row that the inbox refuses must not hold up its neighbours; its lease runs out instead."""
        for settlement in batch:
            try:
                await self._write([settlement])
            except StoreError:
                telemetry.error("settle_refused", event=settlement.event_id, signal=settlement.signal, error=error)

    async def _write(self, batch: Sequence[Settlement]) -> None:
        await self._parking.before(batch)
        took_effect = await self._bench.settle(batch)
        await self._parking.after(batch)
        for settlement, took in zip(batch, took_effect, strict=True):
            if not took:
                telemetry.info("settle_passed_over", event=settlement.event_id, signal=settlement.signal)
            elif settlement.signal in (Signal.BURY, Signal.REFUSE):
                telemetry.warn(
                    "dead_letter",
                    event=settlement.event_id,
                    handler=settlement.handler,
                    reason=settlement.reason,
                    error=settlement.error,  # its class alone: the message may hold what the sender sent
                )
