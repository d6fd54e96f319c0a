"""A seen cache that all intakes share: this process's memory in front, a Redis or Valkey behind it.

It is only a cache. Whatever becomes of the server, the inbox is asked instead: slower, and never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from landfast import telemetry
from landfast.caches.local import LocalSeen
from landfast.caches.redis_marks import IN_FLIGHT_MARK, RedisMarks, Timeline
from landfast.caches.same_inbox import Origin
from landfast.caches.upkeep import Upkeep
from landfast.domain.ids import EventId, SeenMark
from landfast.ports.clock import Clock
from landfast.ports.seen import Look

MARKS_PER_LOOK = 2_000
"""Marks of one batch; more are only in a request that alone brings so many, and a script takes no more than 8,000."""

FOREIGN_LINE_SECONDS = 60.0
"""Seconds between two lines about foreign marks."""

_NOTHING = Look()


class SharedSeen:
    """Implements `ports.seen.Seen`."""

    is_shared = True

    def __init__(self, marks: RedisMarks, inbox: Origin, *, clock: Clock, name: str = "") -> None:
        """`name` is the server's, for the log."""
        self._local = LocalSeen()
        self._marks = marks
        self._upkeep = Upkeep(marks, inbox, self._local, clock=clock, name=name)
        self._clock = clock
        self._name = name
        self._hits = self._misses = self._in_flight = self._unanswered = self._foreign = 0
        self._told_of_foreign_at = -math.inf

    def start(self) -> None:
        self._upkeep.start()

    async def close(self) -> None:
        await self._upkeep.close()

    def has(self, mark: SeenMark) -> bool:
        return self._local.has(mark)

    def has_by_now(self, mark: SeenMark) -> bool:
        return self._local.has_by_now(mark)

    async def look(self, marks: Sequence[SeenMark]) -> Look:
        timeline = self._upkeep.believed()
        asked = list(dict.fromkeys(marks))
        if timeline is None or len(asked) > MARKS_PER_LOOK:
            return self._unknown(marks)
        try:
            found, is_warm = await self._marks.look(timeline, asked)
        except Exception as error:  # noqa: BLE001 - whatever it was, the inbox is asked instead
            self._upkeep.trip(error)
            return self._unknown(marks)
        if timeline is not self._upkeep.believed():  # forgotten while we asked, and so is what we heard
            return self._unknown(marks)
        if not is_warm:  # flushed, restarted or evicted
            self._upkeep.warm()
        looked, foreign = _judged(timeline, zip(asked, found, strict=True))
        if foreign:
            self._tell_of(foreign)
        self._local.remember([*looked.known])
        self._count(marks, looked)
        return looked

    def remember(self, marks: Sequence[SeenMark], *, events: Sequence[EventId], in_inbox: bool = True) -> None:
        self._local.remember(marks)
        self._upkeep.tell(marks, events if in_inbox else [None] * len(marks))

    def clear(self) -> None:
        self._upkeep.forget()

    def meters(self) -> Mapping[str, int]:
        return {
            **self._local.meters(),
            "seen_shared_hits": self._hits,
            "seen_shared_misses": self._misses,
            "seen_shared_in_flight": self._in_flight,
            "seen_shared_foreign": self._foreign,
            "seen_shared_unanswered": self._unanswered,
            "seen_shared_unwritten": self._upkeep.unwritten,
        }

    def _tell_of(self, foreign: int) -> None:
        self._foreign += foreign
        now = self._clock.monotonic()
        # Whoever writes many marks must not fill the log as well.
        if now - self._told_of_foreign_at >= FOREIGN_LINE_SECONDS:
            self._told_of_foreign_at = now
            telemetry.warn(
                "cache_marks_foreign",
                server=self._name,
                count=self._foreign,
            )

    def _unknown(self, marks: Sequence[SeenMark]) -> Look:
        self._unanswered += len(marks)
        return _NOTHING

    def _count(self, marks: Sequence[SeenMark], looked: Look) -> None:
        known = sum([mark in looked.known for mark in marks])  # twins of one batch are asked for once, and count each
        in_flight = sum([mark in looked.in_flight for mark in marks])
        self._hits += known
        self._in_flight += in_flight
        self._misses += len(marks) - known - in_flight


def _judged(timeline: Timeline, found: Iterable[tuple[SeenMark, bytes | None]]) -> tuple[Look, int]:
    """What is known; and how many marks are none of ours. Those count as missing, and are written over later."""
    marked = [(mark, value) for mark, value in found if value is not None]
    # No promise: whoever left it may have died before the COMMIT. A forged one costs a short wait.
    in_flight = [mark for mark, value in marked if value.startswith(IN_FLIGHT_MARK)]
    known = [mark for mark, value in marked if timeline.is_durable(mark, value)]
    return Look(frozenset(known), frozenset(in_flight)), len(marked) - len(in_flight) - len(known)
