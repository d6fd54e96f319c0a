"""What others feel of a retention pass: one client that records, claims and settles, in windows with and without it.

The windows take turns, so that a slow minute of the machine hits both kinds.
"""

from __future__ import annotations

import asyncio
import fcntl
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from landfast.domain.delivery import Delivery, Identity
from landfast.domain.ids import HandlerName, WorkerId, token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Settlement
from landfast.domain.retention import Step
from landfast.ports import inbox as ports

WORKER = WorkerId(b"benching")
HANDLERS = (HandlerName("book"),)
BATCH, BEATS_A_SECOND = 25, 20
"""500 events a second, in batches that a busy intake would make of them."""

T = TypeVar("T")


def say(text: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}\n")
    sys.stdout.flush()


@contextmanager
def in_turn(file: Path | None) -> Iterator[None]:
    """Nobody else who locks this file measures meanwhile."""
    if file is None:
        yield
        return
    with file.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(slots=True)
class Load:
    """One client, and how long each of its questions took, in milliseconds."""

    inbox: ports.Inbox
    size: int
    """Bytes of a body."""
    number: int = field(default_factory=lambda: int(time.time() * 1000))
    recorded: int = 0
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    @asynccontextmanager
    async def running(self, now: Callable[[], datetime]) -> AsyncIterator[None]:
        over = asyncio.Event()
        running = asyncio.create_task(self._run(over, now))
        try:
            yield
        finally:
            over.set()
            await running

    async def _run(self, over: asyncio.Event, now: Callable[[], datetime]) -> None:
        while not over.is_set():
            beat = time.perf_counter()
            self.number += 1
            names = [Identity(f"live-{self.number}-{each}", "invoice.paid") for each in range(BATCH)]
            await self._timed("record", self.inbox.record([self._delivery(one, now()) for one in names]))
            self.recorded += BATCH
            claims = await self._timed(
                "claim", self.inbox.claim(token=token(WORKER, self.number), lease=600, limit=2 * BATCH)
            )
            done = [Settlement(one.event_id, one.run, one.token, Signal.FINISH, handlers=HANDLERS) for one in claims]
            await self._timed("settle", self.inbox.settle(done))
            await asyncio.sleep(max(0.0, 1 / BEATS_A_SECOND - (time.perf_counter() - beat)))

    def _delivery(self, identity: Identity, now: datetime) -> Delivery:
        return Delivery.of("stripe", identity, received_at=now, headers=b"[]", body=b"x" * self.size)

    async def _timed(self, what: str, asked: Awaitable[T]) -> T:
        began = time.perf_counter()
        answer = await asked
        self.times[what].append((time.perf_counter() - began) * 1000)
        return answer


@dataclass(slots=True)
class Passing:
    """The steps of one pass, which works for this share of the time, and how long each took, in seconds."""

    step: Callable[[], Awaitable[Step | None]]
    share: float
    took: list[float] = field(default_factory=list)
    slowest: str = ""
    events: int = 0
    bodies: int = 0
    is_over: bool = False

    async def go_on(self, seconds: float, *, share: float | None = None) -> None:
        """For so long, or to its end."""
        until = time.perf_counter() + seconds
        while not self.is_over and time.perf_counter() < until:
            began = time.perf_counter()
            step = await self.step()
            took = time.perf_counter() - began
            if took > max(self.took, default=0.0):
                self.slowest = "the end" if step is None else step.what
            self.took.append(took)
            if step is None:
                self.is_over = True
                return
            self.events += sum(count.events for count in step.counts.values())
            self.bodies += sum(count.bodies for count in step.counts.values())
            await asyncio.sleep(took * (1 / (share or self.share) - 1))


async def in_windows(
    without: Load, beside: Load, passing: Passing, now: Callable[[], datetime], *, windows: int, seconds: float
) -> None:
    """So many windows of each kind. The pass stands still while there is one without it."""
    for _ in range(windows):
        async with without.running(now):
            await asyncio.sleep(seconds)
        async with beside.running(now):
            await passing.go_on(seconds)


def show_load(name: str, load: Load) -> None:
    told = [
        f"{what} p50 {statistics.median(found):.1f} p99 {percentile(found, 0.99):.1f} max {max(found):.0f}"
        for what, found in load.times.items()
    ]
    say(f"    {name:8} ms: {';  '.join(told)};  {len(load.times['record'])} batches")


def show_steps(passing: Passing) -> None:
    took = passing.took
    figures = f"p50 {statistics.median(took) * 1000:.0f}, p99 {percentile(took, 0.99) * 1000:.0f}"
    say(f"    steps: {len(took):,}, ms: {figures}, longest {max(took) * 1000:.0f} ({passing.slowest})")


def percentile(found: list[float], share: float) -> float:
    return sorted(found)[min(int(len(found) * share), len(found) - 1)]
