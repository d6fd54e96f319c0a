"""Bytes of those who have proved nothing yet: heads and bodies that arrive, and bodies that wait for a provider's key.

There is one budget for all of them. When it is full, the slowest connection makes room, and no newcomer is refused: a
stranger that fills the budget and falls silent is the one who goes. The source that holds the most makes room first, so
a flood at one source costs no other its share.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

UNPROVEN_BYTES = 64 * 1024 * 1024
"""Of a process that may have 120 MB. It is two and a half bodies of the largest kind that a provider sends, and a
thousand of the usual kind that happen to need more than one read."""

ROOM_SHARE = 1 / 8
"""Of the budget, made at a time: to look for the slowest takes a millisecond for 10,000, too much for each that comes.
"""


class Holder(Protocol):
    """A connection, or a request that waits for a key."""

    @property
    def deadline(self) -> float:
        """When its time is up. The slower it is, the nearer that is."""

    def give_way(self) -> None:
        """Let go of its bytes now."""


class Unproven:
    def __init__(self, most: int = UNPROVEN_BYTES) -> None:
        self._most = most
        self._held: dict[Holder, tuple[str, int]] = {}
        self._of_source: Counter[str] = Counter()
        self.total = 0

    def hold(self, holder: Holder, source: str, size: int) -> None:
        """From now on it holds so many bytes in all, under the name of that source. It may have to give way itself."""
        if holder in self._held:
            self._take_off(*self._held.pop(holder))
        if not size:
            return
        self._held[holder] = source, size
        self._of_source[source] += size
        self.total += size
        if self.total > self._most:
            self._make_room()

    def _make_room(self) -> None:
        aim = self._most - int(self._most * ROOM_SHARE)
        while self.total > aim and self._of_source:
            largest, _ = self._of_source.most_common(1)[0]
            holders = [holder for holder, (source, _) in self._held.items() if source == largest]
            holders.sort(key=_deadline)
            for holder in holders:
                if self.total <= aim:
                    return
                holder.give_way()
                self.hold(holder, largest, 0)

    def _take_off(self, source: str, size: int) -> None:
        self.total -= size
        self._of_source[source] -= size
        if not self._of_source[source]:
            del self._of_source[source]


def _deadline(holder: Holder) -> float:
    return holder.deadline
