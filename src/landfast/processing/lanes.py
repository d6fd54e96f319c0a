"""The walk: events of a lane run in the order of their places, and at the first that is not passed the rest is dropped.

Events of other lanes go on, and so do handlers that did not ask for order. What is dropped goes back to the inbox's
queue, from where it comes as soon as nothing holds it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from landfast.domain.ids import HandlerName
from landfast.domain.lane import Lane, LanePlace
from landfast.processing.handlers.registry import Handler, OnDead
from landfast.processing.work import BEHIND, Buried, ClaimedEvent, Done, Parked, Result, Work


@dataclass(slots=True)
class Walk:
    """Through the lanes of one claim."""

    _stops: dict[Lane, LanePlace] = field(default_factory=dict)
    """The first place of each lane that is not passed."""

    def begin(self, events: Iterable[ClaimedEvent]) -> None:
        """What was decided before anything ran may stop a lane, too: a handler that is paused, a malformed body."""
        in_lanes = [claimed for claimed in events if claimed.claim.lane is not None]
        for claimed in sorted(in_lanes, key=lambda claimed: claimed.claim.place or b""):
            if claimed.settlement is not None and not claimed.settlement.is_passed:
                self._stop(claimed)
            claimed.results.update(self.judged(claimed.results))

    def judged(self, results: Mapping[Work, Result]) -> Mapping[Work, Result]:
        """The same results, in the order of places, but of each lane only the first that is not passed: what comes
        after it was not tried, and waits for it."""
        if not any(_is_in_lane(work) for work in results):
            return results
        judged: dict[Work, Result] = {}
        for work in sorted(results, key=lambda work: work.order):
            judged[work] = result = results[work] if _passes(work, results[work]) or not self.drops(work) else BEHIND
            self._learn(work, result)
        return judged

    def drops(self, work: Work) -> bool:
        """Whether an earlier event of its lane is not passed."""
        lane = work.claim.lane
        stop = self._stops.get(lane) if lane is not None and work.handler.ordered else None
        return stop is not None and work.claim.place is not None and work.claim.place > stop

    def _learn(self, work: Work, result: Result) -> None:
        if _is_in_lane(work) and not _passes(work, result):
            self._stop(work)

    def _stop(self, at: Work | ClaimedEvent) -> None:
        lane, place = at.claim.lane, at.claim.place
        if lane is not None and place is not None:
            self._stops[lane] = min(place, self._stops.get(lane, place))


def waves(events: Iterable[ClaimedEvent]) -> Iterator[list[Work]]:
    """The works of ordered handlers, so that no event of a lane begins before all before it are through. Events in a
    row that one and the same handler takes are of one wave: it walks them by itself. Where handlers take turns in a
    lane, or an event has two, each event has a wave of its own; many lanes share it."""
    found: list[list[Work]] = []
    reached: dict[Lane, tuple[int, HandlerName | None]] = {}
    ordered = [(claimed, [work for work in claimed.works if work.handler.ordered]) for claimed in events]
    for claimed, works in sorted(ordered, key=lambda one: one[0].claim.place or b""):
        if not works:
            continue
        only = works[0].handler.name if len(works) == 1 else None
        number = 0
        if (lane := claimed.claim.lane) is not None:
            if lane in reached:
                number, before = reached[lane]
                number += only is None or only != before
            reached[lane] = (number, only)
        found += [[] for _ in range(number + 1 - len(found))]
        found[number] += works
    yield from found


def is_passed(ordered: Sequence[Handler], *, done: Iterable[str], buried: Iterable[str]) -> bool:
    """Whether each ordered handler that takes the event is done with it, or dead where that is skipped."""
    finished, dead = frozenset(done), frozenset(buried)
    return all(one.name in finished or (one.name in dead and one.on_dead is OnDead.SKIP) for one in ordered)


def _is_in_lane(work: Work) -> bool:
    return work.handler.ordered and work.claim.lane is not None


def _passes(work: Work, result: Result) -> bool:
    return isinstance(result, Done | Parked) or (isinstance(result, Buried) and work.handler.on_dead is OnDead.SKIP)
