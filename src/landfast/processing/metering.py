"""What attempts and events came to, counted by handler and type."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.lifecycle import Signal
from landfast.domain.metering import Meters
from landfast.domain.outcome import Settlement
from landfast.domain.rates import Meter
from landfast.processing.handlers.error_text import name_of
from landfast.processing.work import ClaimedEvent, Done, Failed, Parked
from landfast.telemetry import metrics

ENDS = frozenset({Signal.BURY, Signal.REFUSE, Signal.NO_HANDLER})


def count_outcomes(meters: Meters, events: Sequence[ClaimedEvent], settlements: Sequence[Settlement]) -> None:
    """Runs of handlers as they ended, and events as they are about to be settled: of two workers that settle the same
    event, which is rare, both count it."""
    for event in events:
        source, type_ = event.claim.source, event.claim.type
        for work, result in event.results.items():
            if isinstance(result, Done) and result.ran:
                meters.count(Meter.DONE, source, type_, work.handler.name, seconds=result.seconds)
            elif isinstance(result, Done) and result.is_superseded:
                metrics.NOT_RUN.add(source, work.handler.name, "superseded")
            elif isinstance(result, Parked):
                metrics.NOT_RUN.add(source, work.handler.name, "parked")
            elif isinstance(result, Failed):
                meters.count(Meter.FAILED, source, type_, work.handler.name, name_of(result.error))
    # By identity: the hash of an enum's member is a call of Python's own.
    ends = [one for one in settlements if one.signal is not Signal.FINISH and one.signal in ENDS]
    if not ends:  # as nearly always
        return
    claims = {event.claim.event_id: event.claim for event in events}
    for one in ends:
        claim = claims[one.event_id]
        if one.signal is Signal.NO_HANDLER:
            meters.count(Meter.UNHANDLED, claim.source, claim.type)
        else:
            meters.count(Meter.DEAD, claim.source, claim.type, one.handler, one.error or one.reason)
            metrics.DEAD_LETTERS.add(claim.source, one.reason)
