"""What operators see of lanes, and do about one that is blocked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.ids import EventId
from landfast.domain.summary import InLane, WaitingLane


class Lanes(Protocol):
    async def lanes(self, *, limit: int) -> Sequence[WaitingLane]:
        """Lanes in which something is queued, or which a dead letter blocks: those first in which the most waits, then
        by source and entity."""
        ...

    async def in_lane(self, event: EventId) -> InLane | None:
        """Where an event that is not done stands in its lane. None where it has none, or holds it no longer."""
        ...

    async def skip(self, events: Sequence[EventId], *, who: str) -> int:
        """Have the lane of each dead letter go on without it; how many. It stays dead, and its handlers and its message
        stay as they were. The others change nothing. Each adds one line of history that says who."""
        ...
