"""The seen cache: which events are already durable. A hint that may forget, never one that may guess.

It knows an event by its mark, see `domain.delivery.Delivery.mark`: its id, and of strict sources its bytes as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from landfast.domain.ids import EventId, SeenMark


class Look(NamedTuple):
    known: frozenset[SeenMark] = frozenset()
    """Durable already: duplicates."""
    in_flight: frozenset[SeenMark] = frozenset()
    """Another intake is recording these right now. That is no promise: only its COMMIT is."""


class Seen(Protocol):
    @property
    def is_shared(self) -> bool:
        """Whether other intakes are asked; where not, nobody needs to `look`."""
        ...

    def has(self, mark: SeenMark) -> bool:
        """True only for an event that was remembered after it became durable. At once: from this process's memory."""
        ...

    def has_by_now(self, mark: SeenMark) -> bool:
        """The same for one that was not there when its request came, and may have become durable since. A miss was
        counted then, and is not again."""
        ...

    async def look(self, marks: Sequence[SeenMark]) -> Look:
        """What the other intakes know of these, in one round trip, and mark the rest as in flight here. Never raises,
        and answers within 50 ms: where nobody knows, nothing is known."""
        ...

    def remember(self, marks: Sequence[SeenMark], *, events: Sequence[EventId], in_inbox: bool = True) -> None:
        """Called after they became durable, never before. `events` are the ids of their events, in the same order;
        `in_inbox` is False for what a spool or journal holds. It never blocks: it tells other intakes later."""
        ...

    def clear(self) -> None:
        """Forget everything: the inbox may have been restored to an earlier time."""
        ...

    def meters(self) -> Mapping[str, int]:
        """How often each layer knew an event, and did not, since boot."""
        ...
