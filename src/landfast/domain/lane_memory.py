"""What a ledger remembers of a lane: how far each handler has come in it, and in which state its entity is.

Both are rows of the ledger that are locked and written in the handler's own transaction. What is remembered is true if
and only if the handler's writes are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from landfast.domain.ids import HandlerName
from landfast.domain.lane import LaneId, LanePlace


class LaneMark(NamedTuple):
    """How far one handler has come in one lane: the highest place that it has committed."""

    lane: LaneId
    handler: HandlerName
    place: LanePlace


class StateKey(NamedTuple):
    """The entity of one lane, as one lifecycle sees it."""

    lane: LaneId
    machine: str
    """The lifecycle's name."""


class LaneState(NamedTuple):
    lane: LaneId
    machine: str
    state: str
    is_last: bool
    """No transition leads on from it: nobody misses it once its entity is forgotten everywhere else."""


MarkKey = tuple[LaneId, HandlerName]


def highest(marks: Iterable[LaneMark]) -> dict[MarkKey, LanePlace]:
    """One place for each lane and handler, in the order in which every transaction locks them."""
    found: dict[MarkKey, LanePlace] = {}
    for lane, handler, place in marks:
        found[lane, handler] = max(place, found.get((lane, handler), place))
    return dict(sorted(found.items()))


def put_back(
    before: Mapping[MarkKey, LanePlace | None], reached: Iterable[LaneMark]
) -> dict[MarkKey, LanePlace | None]:
    """Where marks that were moved belong if only these places were reached. None: where there was no mark."""
    places = highest(reached)
    return {
        key: max((each for each in (was, places.get(key)) if each is not None), default=None)
        for key, was in before.items()
    }
