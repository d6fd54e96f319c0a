"""What operators do about events that failed, besides a replay, or that are to wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.ids import EventId


class Failures(Protocol):
    async def hasten(self, events: Sequence[EventId], *, who: str) -> int:
        """Make each delayed one ready, in the same run and with the tries that it has, and forget when its handlers
        wanted to be tried again; how many. The others change nothing. Each adds one line of history that says who."""
        ...

    async def close_dead(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        """Make each dead letter done, `discarded`, an erased one too; how many. It owes no receipt, and can be replayed
        unless it was erased. The others change nothing. Each adds one line of history that says who, and why as the
        message of an attempt of no handler."""
        ...

    async def hold(self, events: Sequence[EventId], *, who: str, why: str) -> int:
        """Make each held that waits in nobody's hands, in the same run and with the tries that it has; how many. Its
        lane goes on without it. The others change nothing. Each adds one line of history, as `close_dead` does."""
        ...
