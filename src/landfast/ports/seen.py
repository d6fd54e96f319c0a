"""The seen cache: which events are already durable. A hint that may forget, never one that may guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from landfast.domain.ids import EventId


class Look(NamedTuple):
    known: frozenset[EventId] = frozenset()
    """Durable already: duplicates."""
    in_flight: frozenset[EventId] = frozenset()
    """Another intake is recording these right now. That is no promise: only its COMMIT is."""


class Seen(Protocol):
    def has(self, event: EventId) -> bool:
        """True only for an event that was remembered after it became durable. At once: from this process's memory."""
        ...

    async def look(self, events: Sequence[EventId]) -> Look:
        """What the other intakes know of these, in one round trip, and mark the rest as in flight here. Never raises,
        and answers within 50 ms: where nobody knows, nothing is known."""
        ...

    def remember(self, events: Iterable[EventId], *, in_inbox: bool = True) -> None:
        """Called after they became durable, never before; `in_inbox` is False for what a spool or journal holds. Never
        blocks: whom else it tells, it tells later."""
        ...

    def clear(self) -> None:
        """Forget everything: the inbox may have been restored to an earlier time."""
        ...

    def meters(self) -> Mapping[str, int]:
        """How often each layer knew an event, and did not, since boot."""
        ...
