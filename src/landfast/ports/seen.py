"""The seen cache: which events are already durable. A hint that may forget, never one that may guess."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from landfast.domain.ids import EventId


class Seen(Protocol):
    def has(self, event: EventId) -> bool:
        """True only for an event that was remembered after it became durable."""
        ...

    def remember(self, events: Iterable[EventId]) -> None:
        """Called after the inbox's COMMIT, never before it."""
        ...

    def clear(self) -> None:
        """Forget everything: the inbox may have been restored to an earlier time."""
        ...
