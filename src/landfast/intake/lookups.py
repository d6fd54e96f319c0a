"""Asking the layers of dedup, and how long each took to answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.ids import SeenMark
from landfast.ports.journal import Journal
from landfast.ports.seen import Look, Seen
from landfast.telemetry.metrics import DEDUP_MISSES, LOOKUP, now, refreshed_by

TIMED_LOOKS = 16
"""One look into memory in so many is timed: to time it takes longer than to look."""


class MemoryLooks:
    """What this process's memory is asked for each request."""

    __slots__ = ("_looks", "_seen")

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._looks = 0

    def knows_all(self, marks: Sequence[SeenMark]) -> bool:
        """Whether it knows all of a request."""
        self._looks += 1
        if self._looks % TIMED_LOOKS:
            return all(map(self._seen.has, marks))
        began = now()
        known = all(map(self._seen.has, marks))
        LOOKUP.observe(now() - began, "memory")
        return known


async def ask_shared(seen: Seen, marks: Sequence[SeenMark]) -> Look:
    """What the shared cache knows of a batch."""
    began = now()
    found = await seen.look(marks)
    LOOKUP.observe(now() - began, "shared")
    return found


async def ask_inbox(journal: Journal, batch: Sequence[Delivery]) -> Sequence[Recorded]:
    """What the inbox knows of a batch: it records the rest, and one statement does both."""
    began = now()
    recorded = await journal.record(batch)
    LOOKUP.observe(now() - began, "inbox")
    if missed := sum([row.is_new for row in recorded]):
        DEDUP_MISSES.add("inbox", by=missed)
    return recorded


@contextmanager
def telling_misses(seen: Seen) -> Iterator[None]:
    """Within the block, what the seen cache counts by itself is told, too."""
    told: Counter[str] = Counter()

    def tell_misses() -> None:
        counted = seen.meters()
        for layer, meter in (("memory", "seen_local_misses"), ("shared", "seen_shared_misses")):
            if new := counted.get(meter, 0) - told[meter]:
                DEDUP_MISSES.add(layer, by=new)
                told[meter] += new

    with refreshed_by(tell_misses):
        yield
