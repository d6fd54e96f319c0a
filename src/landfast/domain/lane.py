"""Lanes: the events of one entity of one source, and the place that each of them has among the others.

An event's place is fixed when it is recorded and never changes, not by a retry, a pause or a replay. It is by the
sender's time, because that is the order in which things happened; then by arrival, because senders' times tie within a
second. It is 16 bytes that sort as they are, so that every database and every ledger compares them alike.
"""

from __future__ import annotations

import hashlib
import struct
from datetime import datetime
from typing import NamedTuple, NewType

from landfast.domain.ids import InboxId
from landfast.domain.micros import micros

Lane = tuple[str, str]
"""Source and entity, as the inbox knows it."""

LaneId = NewType("LaneId", bytes)
"""16 bytes derived from (inbox, source, entity): what a mark in a shared ledger is keyed by."""

LanePlace = NewType("LanePlace", bytes)
"""16 bytes: when it occurred in microseconds, then its arrival."""

AHEAD_MICROS = 5 * 60 * 1_000_000
"""By which an event may be ahead of its own arrival. Clocks differ by minutes; without a bound, one event of the year
9999 would make all that follow it late."""

_NUMBER_BITS = 12
_LAST_NUMBER = 2**_NUMBER_BITS - 1
"""Of those that arrive in one microsecond, in one request above all. Those beyond it share a place, and then neither
waits for the other."""

_LAST_MICRO = 2 ** (64 - _NUMBER_BITS) - 1
"""Of arrivals, in the year 2112."""

_pack = struct.Struct(">QQ").pack
_unpack = struct.Struct(">QQ").unpack


class Front(NamedTuple):
    """The first places of one lane that hold it, as one snapshot has them: of what a claim took, of what else is at
    work, and of what waits."""

    mine: LanePlace | None
    at_work: LanePlace | None
    on_shelf: LanePlace | None

    @property
    def bound(self) -> LanePlace | None:
        """The first that somebody else holds: what is beyond it is behind."""
        return min((place for place in (self.at_work, self.on_shelf) if place is not None), default=None)

    def has_before(self, place: LanePlace) -> bool:
        """Whether an event at this place, which is the claim's, is behind somebody else's."""
        return self.bound is not None and place > self.bound

    @property
    def may_pull(self) -> bool:
        """Whether the first of all is the claim's, and others wait on the shelf."""
        return self.on_shelf is not None and self.mine is not None and self.bound is not None and self.mine < self.bound


def lane_of(inbox: InboxId, source: str, entity: str) -> LaneId:
    parts = (inbox, source.encode(), entity.encode("utf-8", "surrogatepass"))
    framed = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
    return LaneId(hashlib.sha256(b"lane" + framed).digest()[:16])


def place_of(occurred_at: datetime | None, received_at: datetime, number: int = 0) -> LanePlace:
    """Of the event that was recorded as the nth of its batch: those of one request lie in it in their order."""
    return place_in_micros(None if occurred_at is None else micros(occurred_at), micros(received_at), number)


def place_in_micros(occurred_at: int | None, received_at: int, number: int) -> LanePlace:
    """The same, for who has the times in microseconds already."""
    arrived = max(received_at, 0)
    occurred = arrived if occurred_at is None else min(max(occurred_at, 0), arrived + AHEAD_MICROS)
    return LanePlace(_pack(occurred, min(arrived, _LAST_MICRO) << _NUMBER_BITS | min(number, _LAST_NUMBER)))


def occurred_micros(place: LanePlace) -> int:
    """When the event of this place occurred, as far as it counts: two that tie here may run in any order."""
    occurred: int = _unpack(place)[0]
    return occurred
