"""A seen cache in this process's own memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence

from landfast.domain.ids import EventId
from landfast.ports.seen import Look

ENTRIES = 100_000
"""About 15 MB. At a busy 1,000 events a second it remembers the last 100 seconds, which is when timed-out senders and
concurrent twins come back; a later duplicate only costs the inbox one conflict."""


class LocalSeen:
    """Implements `ports.seen.Seen`: the least recently asked-for event is forgotten first."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._events: OrderedDict[EventId, None] = OrderedDict()
        self._hits = self._misses = 0

    def has(self, event: EventId) -> bool:
        if event not in self._events:
            self._misses += 1
            return False
        self._hits += 1
        self._events.move_to_end(event)
        return True

    async def look(self, events: Sequence[EventId]) -> Look:  # noqa: ARG002 - nobody else to ask
        return Look()

    def remember(self, events: Iterable[EventId], *, in_inbox: bool = True) -> None:  # noqa: ARG002 - all the same here
        for event in events:
            self._events[event] = None
            self._events.move_to_end(event)
        while len(self._events) > self._entries:
            self._events.popitem(last=False)

    def clear(self) -> None:
        self._events.clear()

    def meters(self) -> Mapping[str, int]:
        return {"seen_local_hits": self._hits, "seen_local_misses": self._misses}

    def __len__(self) -> int:
        return len(self._events)
