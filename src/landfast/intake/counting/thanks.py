"""What a sender is told of what is durable now, and the counting that goes with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from landfast.domain import answer
from landfast.domain.answer import Answer
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.ids import EventId
from landfast.domain.metering import Meters
from landfast.domain.rates import Meter
from landfast.intake.counting.tally import Tally
from landfast.intake.source import Source


@dataclass(frozen=True, slots=True)
class Thanks:
    tally: Tally
    meters: Meters

    def recorded(
        self, source: Source, request: Sequence[Delivery], outcome: Sequence[Recorded], *, seconds: float
    ) -> Answer:
        """After the COMMIT: stored, or known before."""
        if len(outcome) == 1 and outcome[0].is_new:  # as nearly always: what follows comes to the same, and makes more
            event = outcome[0].event_id
            self.tally.stored(source.name, elsewhere=0 if outcome[0].in_inbox else 1)
            self.meters.count(Meter.STORED, source.name, request[0].type, seconds=seconds)
            return _in_words(source, answer.stored(event, (event,)))
        again = [row.event_id for row in outcome if not row.is_new]
        if len(again) == len(outcome):
            return self.duplicate(source, again, outcome[0].known_by)
        for event in again:
            self.tally.came_again(event)
        # By id: a spool takes a request that names one event twice for two new ones, and the inbox for one.
        new = len({row.event_id for row in outcome if row.is_new})
        elsewhere = len({row.event_id for row in outcome if row.is_new and not row.in_inbox})
        self.tally.stored(source.name, new, known=len(outcome) - new, elsewhere=elsewhere)
        if len(outcome) > new:
            self.meters.count(Meter.DUPLICATE, source.name, detail="inbox", count=len(outcome) - new)
        for one in request if new == len(request) else _new_of(request, outcome):
            self.meters.count(Meter.STORED, source.name, one.type, seconds=seconds)
        # Of a request with one event, the journal says which it became: another body may be an event of its own.
        named = request[0].event_id if len(outcome) > 1 else outcome[0].event_id
        return _in_words(source, answer.stored(named, tuple([row.event_id for row in outcome])))

    def duplicate(self, source: Source, events: Sequence[EventId], layer: str) -> Answer:
        for event in events:
            self.tally.came_again(event)
        self.tally.duplicate(source.name, len(events))
        self.meters.count(Meter.DUPLICATE, source.name, detail=layer, count=len(events))
        return _in_words(source, answer.duplicate(tuple(events)))


def _in_words(source: Source, given: Answer) -> Answer:
    """That its provider wants to read, if it wants any."""
    words = source.provider.thanks
    return given if words is None else msgspec.structs.replace(words, events=given.events)


def _new_of(request: Sequence[Delivery], outcome: Sequence[Recorded]) -> list[Delivery]:
    """By id, as they are counted: a request may bring events that are known, and one event twice."""
    new = {row.event_id for row in outcome if row.is_new}
    return list({one.event_id: one for one in request if one.event_id in new}.values())
