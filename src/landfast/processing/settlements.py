"""From what is known of one event to the one signal that the inbox is told."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import NO_TRIES, NO_WRITES, SUPERSEDED, Settlement
from landfast.processing.findings import Findings, Reason
from landfast.processing.handlers.error_text import MESSAGE_CHARACTERS
from landfast.processing.handlers.registry import Handler
from landfast.processing.lanes import is_passed

PAUSED_LOOK_SECONDS = 60.0
"""One handler of an event is switched off, and another has to be tried again: neither waits for the other longer."""

SLOW_NEIGHBOUR = "slow_neighbour"
"""Why an event is given back that was claimed with one that takes long."""

RECALLED = "recalled"
"""Why an event is given back that an operator took out of a worker's hand."""

GIVES_BACK = frozenset({"stopping", SLOW_NEIGHBOUR, RECALLED})
"""Reasons for which an event is ready again at once."""


def settlement_of(findings: Findings, ordered: Sequence[Handler]) -> Settlement:
    """`ordered`: the handlers that take it in its order."""
    claim = findings.claim
    signal, handler, why, parked = Signal.FINISH, "", Reason(), None
    if findings.waits_twice:
        findings.delays.append(PAUSED_LOOK_SECONDS)
        findings.why = findings.why or Reason("waits", message="it waits for several things at a time")
    if findings.delays:
        signal, why = Signal.RETRY if findings.counted else Signal.POSTPONE, findings.why or why
        handler = why.handler
        if why.reason in GIVES_BACK and not findings.counted:
            signal = Signal.RELEASE
    elif findings.is_behind:
        signal, why = Signal.QUEUE, Reason("behind")
    elif findings.pauses:
        signal, why = Signal.PAUSE, findings.pauses[0]
    elif findings.parks:
        (parked,) = findings.parks
        signal, handler, why = (
            Signal.PARK,
            findings.parked[0],
            Reason(parked.step.reason, message=parked.message[:MESSAGE_CHARACTERS]),
        )
    elif findings.tombstones:
        signal, (handler, why) = Signal.BURY, findings.tombstones[0]
    elif findings.is_superseded:
        why = Reason(SUPERSEDED)
    elif findings.is_unwritten:
        why = Reason(NO_WRITES)
    return Settlement(
        event_id=claim.event_id,
        run=claim.run,
        token=claim.token,
        signal=signal,
        due_in=min(findings.delays, default=0.0) if parked is None else parked.due_in,
        tries=findings.tries if signal is not Signal.FINISH else NO_TRIES,
        attempts=tuple(findings.attempts),
        handler=handler,
        reason=why.reason,
        error=why.error,
        line=why.line,
        message=why.message,
        handlers=findings.done if signal is Signal.FINISH else (),
        lane=claim.lane,
        # What is parked holds up nobody: the event that it waits for may come after it in its lane.
        is_passed=claim.holds and is_passed(ordered, done=[*findings.done, *findings.parked], buried=findings.buried),
        stirs=tuple(findings.stirs),
        waits_for=None if parked is None else parked.step.key,
        seen=None if parked is None else parked.seen,
    )
