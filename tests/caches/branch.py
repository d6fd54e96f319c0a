"""Intakes of one inbox that share what they have seen, each as its own process would have it: a real SQLite inbox, a real
Valkey, and nothing between them but what Landfast puts there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from landfast.app.system_clock import SystemChance, SystemClock
from landfast.caches.redis_marks import RedisMarks
from landfast.caches.shared import SharedSeen
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.ids import EventId, SeenMark, event_id
from landfast.inboxes.sqlite import SqliteInbox
from landfast.intake.record import GroupCommit, RecordResult
from landfast.ports.clock import Clock
from landfast.testing.clock import ManualClock
from tests.intake.desk import CountingWakeup
from tests.patience import PATIENCE_SECONDS


class Witnessed:
    """A journal that tells which batches it was given, and that a test can hold up."""

    def __init__(self, inbox: SqliteInbox) -> None:
        self._inbox = inbox
        self.batches: list[Sequence[Delivery]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        self.batches.append(deliveries)
        await self.gate.wait()
        return await self._inbox.record(deliveries)


@dataclass
class Branch:
    seen: SharedSeen
    inbox: SqliteInbox
    journal: Witnessed
    group: GroupCommit = field(init=False)

    def __post_init__(self) -> None:
        self.group = GroupCommit(self.journal, seen=self.seen, wakeup=CountingWakeup())

    def begin(self, *keys: str) -> asyncio.Future[RecordResult]:
        """One request with these events."""
        later: asyncio.Future[RecordResult] = asyncio.get_running_loop().create_future()
        self.group.record([delivery(key) for key in keys], later.set_result)
        return later

    async def record(self, *keys: str) -> Sequence[bool]:
        """Whether each was new. Raises what the sender would be told instead."""
        outcome = await self.begin(*keys)
        if isinstance(outcome, Exception):
            raise outcome
        return [row.is_new for row in outcome]

    def meter(self, name: str) -> int:
        return {**self.seen.meters(), **self.group.meters()}[f"seen_{name}"]

    async def believes(self) -> None:
        """Wait until the shared cache is asked, and warm."""
        upkeep = self.seen._upkeep

        def is_well() -> bool:
            if upkeep._breaker.is_open and isinstance(upkeep._clock, ManualClock):
                upkeep._clock.advance(0.1)  # on a busy machine the server may have been late once
            return upkeep.believed() is not None and not upkeep._is_cold and not upkeep._is_warming

        await until(is_well)

    async def told(self) -> None:
        """Wait until the server has heard everything, and answered."""
        await until(lambda: not self.seen._upkeep._untold and not self.seen._upkeep._marks._telling._turn.locked())

    def epoch(self) -> bytes:
        timeline = self.seen._upkeep.believed()
        assert timeline is not None
        return timeline.epoch


@asynccontextmanager
async def branch(folder: Path, address: str, *, clock: Clock | None = None) -> AsyncIterator[Branch]:
    """The clock is the breaker's: one that stands still never probes."""
    inbox = SqliteInbox(str(folder / "inbox.db"), clock=SystemClock(), chance=SystemChance())
    await inbox.open()
    try:
        await inbox.migrate()
        marks = RedisMarks(address, boot=SystemChance().bytes(8))
        seen = SharedSeen(marks, inbox, clock=clock or SystemClock(), name="test")
        seen.start()
        one = Branch(seen, inbox, Witnessed(inbox))
        try:
            yield one
        finally:
            await one.group.close()
            await seen.close()
    finally:
        await inbox.close()


def delivery(key: str) -> Delivery:
    return Delivery(
        source="shop",
        key=key,
        type="order.paid",
        entity=None,
        occurred_at=None,
        received_at=SystemClock().now(),
        headers=b"[]",
        body=key.encode(),
        event_id=event_of(key),
    )


def event_of(key: str) -> EventId:
    return event_id("shop", key)


def mark_of(key: str) -> SeenMark:
    return SeenMark(event_of(key))


def standing_clock() -> ManualClock:
    return ManualClock(SystemClock().now())


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():
            await asyncio.sleep(0.005)
