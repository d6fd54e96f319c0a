"""The first span of an event's trace: its delivery, from the first byte to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from landfast.domain.delivery import Delivery
from landfast.domain.ids import EventId
from landfast.intake.record import Conclude, RecordResult
from landfast.ports.clock import Clock
from landfast.ports.provider import Found
from landfast.telemetry import tracing

if TYPE_CHECKING:
    from landfast.intake.receive import Admitted


def traced_duplicate(admitted: Admitted, found: Sequence[Found], events: Sequence[EventId], clock: Clock) -> None:
    """One that was known at once."""
    if tracing.is_on():
        for each, event in zip(found, events, strict=True):
            _received(admitted, event, {"key": each.key, "result": "duplicate"}, clock)


def traced(admitted: Admitted, request: Sequence[Delivery], conclude: Conclude, clock: Clock) -> Conclude:
    """Whoever is told what became of the request; then its trace has it, too. Each of its events has its own."""
    if not tracing.is_on():
        return conclude

    def told(outcome: RecordResult) -> None:
        conclude(outcome)
        known = () if isinstance(outcome, Exception) else [row.event_id for row in outcome if not row.is_new]
        for each in request:
            result = "rejected" if isinstance(outcome, Exception) else "stored"
            facts = {"key": each.key, "type": each.type, "result": "duplicate" if each.event_id in known else result}
            _received(admitted, each.event_id, facts, clock)

    return told


def _received(admitted: Admitted, event: EventId, facts: Mapping[str, object], clock: Clock) -> None:
    parent = admitted.head.headers.get(b"traceparent")
    tracing.received(
        event,
        {"source": admitted.source.name, **facts},
        began=admitted.at.timestamp(),
        ended=clock.now().timestamp(),
        traceparent=None if parent is None else parent.decode("latin-1"),
    )
