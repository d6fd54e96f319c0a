"""Everything about the shared cache that no sender waits for: connecting, probing, telling it what became durable,
warming it, and finding out whether it may be believed at all. One task does it all, one thing after the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from redis.exceptions import ResponseError

from landfast import telemetry
from landfast.caches.local import LocalSeen
from landfast.caches.redis_marks import ELSEWHERE_SECONDS, MARKS_PER_REQUEST, UNANSWERED, RedisMarks, Timeline
from landfast.caches.same_inbox import Origin, believable, still_holds
from landfast.domain.breaker import Breaker
from landfast.domain.errors import StoreError
from landfast.domain.ids import EventId, SeenMark
from landfast.ports.clock import Clock

QUEUED_MARKS = 5_000
"""Marks that wait to be told: ten full batches. Beyond it the oldest are dropped, it is only a cache."""

GLANCE_SECONDS = 5.0
"""Seconds between two glances at the inbox. One that was away is looked at anew in any case; this is for a failover so
quick that nobody noticed."""

RETRY_SECONDS = 0.5
"""Seconds, at least, until an inbox or a server that did not answer is asked again."""

WARM_UP_SPAN = timedelta(minutes=5)
"""What came in so recently may come again at any moment: senders that timed out, and their first retries."""

WARM_UP_EVENTS = 50_000
"""Half of the local cache. Reading more would cost the inbox more than the duplicates do."""

STOP_SECONDS = 0.5
"""Seconds in which an orderly stop tells what it has not told yet."""


class Upkeep:
    def __init__(self, marks: RedisMarks, inbox: Origin, local: LocalSeen, *, clock: Clock, name: str) -> None:
        self._marks = marks
        self._inbox = inbox
        self._local = local
        self._clock = clock
        self._name = name
        self._breaker = Breaker()
        self._is_connected = False
        self._timeline: Timeline | None = None
        """None while it is not known whether the inbox is the one that the cache knows."""
        self._lives = 0
        """How often everything was forgotten."""
        self._glanced_at = 0.0
        self._untold: deque[tuple[SeenMark, EventId | None]] = deque(maxlen=QUEUED_MARKS)
        """Marks, each with the id of its event if the inbox has it."""
        self.unwritten = 0
        """Marks that were dropped, or that the server refused."""
        self._is_refused = False
        self._is_cold = False
        self._is_warming = False
        self._hot: deque[EventId] = deque()
        self._is_wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._tend_for_ever())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        with suppress(*UNANSWERED):
            async with asyncio.timeout(STOP_SECONDS):
                while self._untold and (timeline := self.believed()) is not None:
                    await self._tell_some(timeline)
        await self._marks.close()

    def believed(self) -> Timeline | None:
        """Under which the cache may be asked now, if it may. Who asks compares by identity afterwards: one that was
        found anew is another, even where it is equal."""
        return None if self._breaker.is_open else self._timeline

    def tell(self, marks: Sequence[SeenMark], events: Sequence[EventId | None]) -> None:
        self.unwritten += max(0, len(self._untold) + len(marks) - QUEUED_MARKS)
        self._untold.extend(zip(marks, events, strict=True))
        if self.believed() is not None:
            self._is_wanted.set()

    def warm(self) -> None:
        """What is hot is not there."""
        self._is_cold = True
        self._is_wanted.set()

    def forget(self) -> None:
        """Believe nothing until the inbox was asked. What it took before it was away, it may have lost; so what was
        not told yet must never be."""
        if self._timeline is not None:
            self._is_wanted.set()
        self._local.clear()
        self._timeline = None
        self._lives += 1
        self._untold.clear()
        self._hot.clear()
        self._is_warming = False

    def trip(self, error: BaseException) -> None:
        """It did not answer: let nobody else wait for it."""
        self._is_connected = False
        if self._breaker.trip(self._clock.monotonic(), str(error)):
            telemetry.warn("cache_unavailable", server=self._name, error=_short(error))
        self._is_wanted.set()

    async def _tend_for_ever(self) -> None:
        while True:
            try:
                await self._tend()
            except UNANSWERED as error:
                self.trip(error)
            except StoreError:
                self._doubt()
            except Exception as error:  # noqa: BLE001 - whatever it was, it must not end the upkeep
                telemetry.error("cache_failed", trace=error)
                self.trip(error)
                self._doubt()
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause()):
                    await self._is_wanted.wait()
            self._is_wanted.clear()

    def _doubt(self) -> None:
        """The inbox is away, and may come back as an older one."""
        self._breaker.abandon_probe()
        if self._timeline is not None:  # only once: what a spool takes meanwhile stays known
            self.forget()

    def _pause(self) -> float:
        if self._breaker.is_open or self._timeline is None:
            return max(self._breaker.remaining(self._clock.monotonic()), RETRY_SECONDS)
        return 0.0 if self._untold or self._is_warming else GLANCE_SECONDS

    async def _tend(self) -> None:
        if not self._breaker.allows(self._clock.monotonic()):
            return
        if not self._is_connected:
            await self._marks.connect()
            self._is_connected = True
        if self._timeline is None:
            await self._find_timeline()
        elif self._clock.monotonic() - self._glanced_at >= GLANCE_SECONDS:
            await self._glance(self._timeline)
        if self._breaker.reset():
            telemetry.info("cache_available", server=self._name)
        if (timeline := self._timeline) is None:
            return
        await self._tell_some(timeline)
        if self._is_cold:
            await self._begin_warming(timeline)
        if self._is_warming:
            await self._warm_some(timeline)

    async def _find_timeline(self) -> None:
        life = self._lives
        timeline = await believable(self._marks, self._inbox)
        if timeline is not None and life == self._lives:  # else the inbox was away again meanwhile
            self._timeline, self._glanced_at = timeline, self._clock.monotonic()
            self._is_cold = True

    async def _glance(self, timeline: Timeline) -> None:
        if await still_holds(self._marks, self._inbox, timeline):
            self._glanced_at = self._clock.monotonic()
        else:
            self.forget()

    async def _tell_some(self, timeline: Timeline) -> None:
        """Crash before it: the other intakes ask the inbox, which knows."""
        told = [self._untold.popleft() for _ in range(min(MARKS_PER_REQUEST, len(self._untold)))]
        inside = [mark for mark, event in told if event is not None]
        events = [event for _, event in told if event is not None]
        outside = [mark for mark, event in told if event is None]
        try:
            if inside:
                await self._marks.remember(timeline, inside, events=events)
            if outside:
                await self._marks.remember(timeline, outside, events=(), lasting=ELSEWHERE_SECONDS)
        except ResponseError as error:  # full, say; what it has, it still knows
            self._note_refusal(len(told), error)
        except BaseException:
            self.unwritten += len(told)
            raise
        else:
            self._is_refused = self._is_refused and not told

    def _note_refusal(self, count: int, error: ResponseError) -> None:
        self.unwritten += count
        if not self._is_refused:
            telemetry.warn("cache_refuses_marks", server=self._name, error=_short(error))
        self._is_refused = True

    async def _begin_warming(self, timeline: Timeline) -> None:
        """What is hot goes to the server, unless another intake sees to that; and into our memory, when it is empty."""
        is_ours = await self._marks.begin_warming(timeline)
        if is_ours or not len(self._local):
            hot = await self._inbox.recent(self._clock.now() - WARM_UP_SPAN, WARM_UP_EVENTS)
            if timeline is not self._timeline:  # the inbox was away meanwhile
                return
            self._local.remember(_marks(hot[::-1]))
            self._hot, self._is_warming = deque(hot if is_ours else ()), is_ours
        self._is_cold = False

    async def _warm_some(self, timeline: Timeline) -> None:
        """Crash before it: the rest stays cold until the mark of who was warming ends, and another does it."""
        some = [self._hot.popleft() for _ in range(min(MARKS_PER_REQUEST, len(self._hot)))]
        if some:
            await self._marks.remember(timeline, _marks(some), events=some, is_old=True)
        if not self._hot:
            await self._marks.end_warming(timeline)
            self._is_warming = False


def _marks(events: Sequence[EventId]) -> Sequence[SeenMark]:
    """What is hot is known by its id alone. A strict source never asks for such a mark, and so stays cold."""
    return [SeenMark(event) for event in events]


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
