"""A seen cache in this process's own memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence

from landfast.domain.ids import EventId, SeenMark
from landfast.ports.seen import Look

LOCAL_MARKS = 100_000
"""About 15 MB. At a busy 1,000 events a second it remembers the last 100 seconds, which is when timed-out senders and
concurrent twins come back; a later duplicate only costs the inbox one conflict."""


class LocalSeen:
    """Implements `ports.seen.Seen`: the least recently asked-for event is forgotten first."""

    is_shared = False

    def __init__(self, entries: int = LOCAL_MARKS) -> None:
        self._entries = entries
        self._marks: OrderedDict[SeenMark, None] = OrderedDict()
        self._hits = self._misses = 0

    def has(self, mark: SeenMark) -> bool:
        if mark not in self._marks:
            self._misses += 1
            return False
        self._hits += 1
        self._marks.move_to_end(mark)
        return True

    def has_by_now(self, mark: SeenMark) -> bool:
        return mark in self._marks and self.has(mark)

    async def look(self, marks: Sequence[SeenMark]) -> Look:  # noqa: ARG002 - nobody else to ask
        return Look()

    def remember(
        self,
        marks: Sequence[SeenMark],
        *,
        events: Sequence[EventId] = (),  # noqa: ARG002 - nobody else to tell
        in_inbox: bool = True,  # noqa: ARG002 - all the same here
    ) -> None:
        for mark in marks:
            self._marks[mark] = None
            self._marks.move_to_end(mark)
        while len(self._marks) > self._entries:
            self._marks.popitem(last=False)

    def clear(self) -> None:
        self._marks.clear()

    def meters(self) -> Mapping[str, int]:
        return {"seen_local_hits": self._hits, "seen_local_misses": self._misses}

    def __len__(self) -> int:
        return len(self._marks)
