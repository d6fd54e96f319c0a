"""A seen cache in this process's own memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from landfast.domain.ids import EventId

ENTRIES = 100_000
"""About 15 MB. At a busy 1,000 events a second it remembers the last 100 seconds, which is when timed-out senders and
concurrent twins come back; a later duplicate only costs the inbox one conflict."""


class LocalSeen:
    """Implements `ports.seen.Seen`: the least recently asked-for event is forgotten first."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._events: OrderedDict[EventId, None] = OrderedDict()

    def has(self, event: EventId) -> bool:
        if event not in self._events:
            return False
        self._events.move_to_end(event)
        return True

    def remember(self, events: Iterable[EventId]) -> None:
        for event in events:
            self._events[event] = None
            self._events.move_to_end(event)
        while len(self._events) > self._entries:
            self._events.popitem(last=False)

    def clear(self) -> None:
        self._events.clear()

    def __len__(self) -> int:
        return len(self._events)
