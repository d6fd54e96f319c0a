"""What waits for somebody: lanes that a dead letter blocks, and events that are parked until their entity moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from landfast.domain.filter import Filter
from landfast.domain.lifecycle import State
from landfast.ports.inbox import Inbox

LANES_READ = 1_000
"""Lanes that wait, those first in which the most does: an operator who has so many begins with the cause."""

PARKED_READ = 100
"""The oldest of them: which handlers they wait for, and for how long."""


@dataclass(frozen=True, slots=True)
class BlockedLanes:
    """Lanes that go on only when somebody decides about a dead letter."""

    count: int = 0
    is_more: bool = False
    waiting: int = 0
    """Events that are queued in them."""
    oldest: datetime | None = None
    """Since when the first of those dead letters is dead."""
    handlers: tuple[str, ...] = ()
    """That gave up on them."""

    def __str__(self) -> str:
        return f"{self.count:,}{' or more' if self.is_more else ''}"


@dataclass(frozen=True, slots=True)
class ParkedEvents:
    """The oldest of them."""

    oldest: datetime | None = None
    """When it came. It is parked anew whenever its entity moves to where it is not legal either."""
    handlers: tuple[str, ...] = ()
    """Whose lifecycle does not allow them yet."""


async def blocked_lanes(inbox: Inbox) -> BlockedLanes:
    lanes = await inbox.lanes(limit=LANES_READ)
    dead = [lane for lane in lanes if lane.state is State.DEAD]
    return BlockedLanes(
        count=len(dead),
        is_more=bool(dead) and len(lanes) == LANES_READ,
        waiting=sum(lane.waiting for lane in dead),
        oldest=_earliest([lane.since for lane in dead]),
        handlers=tuple(sorted({lane.handler for lane in dead if lane.handler})),
    )


async def parked_events(inbox: Inbox) -> ParkedEvents:
    found = await inbox.find(Filter(state=State.PARKED), limit=PARKED_READ, oldest_first=True)
    handlers = sorted({event.handler for event in found if event.handler})
    return ParkedEvents(_earliest([event.received_at for event in found]), tuple(handlers))


def _earliest(moments: Sequence[datetime | None]) -> datetime | None:
    return min((moment for moment in moments if moment is not None), default=None)
