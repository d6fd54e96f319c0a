"""From a claimed event to what has to run for it: its body decoded, its handlers matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

import msgspec

from landfast import telemetry
from landfast.domain import body
from landfast.domain.errors import MalformedBodyError
from landfast.domain.event import Event
from landfast.domain.fault import Fault
from landfast.domain.ids import HandlerName, InboxId, receipt_digest
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Outcome, ReceiptKey, Settlement, Tries
from landfast.domain.unhandled import Unhandled
from landfast.ports.clock import Clock
from landfast.processing.control.switches import Pauses
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.work import ClaimedEvent, Deferred, Failed, Paused, Result, Spent, Work

CRASHES_AT_MOST = 3
"""Crashes while running alone before an event is a dead letter: one may be bad luck, a second too, not a third."""

CLOCK_SKEW_SECONDS = 1.0
"""By which the database's clock may run ahead of ours without a handler being put off again."""

_pairs = msgspec.json.Decoder(list[tuple[str, str]]).decode


@dataclass(frozen=True, slots=True)
class Preparation:
    inbox: InboxId
    registry: Registry
    clock: Clock
    pauses: Pauses = field(default_factory=Pauses)

    def prepare(self, claim: Claim) -> ClaimedEvent:
        try:
            return self._prepare(claim)
        except Exception as unexpected:  # noqa: BLE001 - its neighbours of this claim go on
            telemetry.error("not_prepared", event=claim.event_id, trace=unexpected)
            return self._decided(claim, Failed(unexpected, Fault.OTHER))

    def handlers_of(self, source: str, type_: str) -> Sequence[Handler]:
        """Those that would run now for such an event."""
        if source in self.pauses.sources or self.registry.wants_of(source).ignores(type_):
            return ()
        return [one for one in self.registry.handlers_for(source, type_) if one.name not in self.pauses.handlers]

    def _prepare(self, claim: Claim) -> ClaimedEvent:
        if switch := self.pauses.sources.get(claim.source):
            return ClaimedEvent(
                claim, settlement=_signal(claim, Signal.PAUSE, reason=switch.reason, message=switch.why)
            )
        wants = self.registry.wants_of(claim.source)
        if wants.ignores(claim.type):
            return ClaimedEvent(claim, settlement=_unwanted(claim))
        handlers = self.registry.handlers_for(claim.source, claim.type)
        if claim.crashes >= CRASHES_AT_MOST and handlers:
            # Before decoding: the bytes themselves may be what kills us.
            return self._decided(claim, _crashed(claim))
        headers = _headers(claim)
        try:
            data = body.decode(claim.body, headers.get("content-type"))
        except MalformedBodyError as error:
            return ClaimedEvent(claim, settlement=_refused(claim, str(error)))
        if not handlers:
            return ClaimedEvent(claim, settlement=_untaken(claim, wants.unhandled))
        claimed = ClaimedEvent(claim)
        for handler in handlers:
            tries = claim.tries.get(handler.name, Tries())
            event = _event(claim, data=data, headers=headers, attempt=tries.count + 1)
            work = Work(claim, event, handler, self._receipt(claim, handler.name))
            if switch := self.pauses.handlers.get(handler.name):
                claimed.results[work] = Paused(switch.reason, switch.why)
            elif wait := self._wait(tries, others=len(handlers) - 1):
                claimed.results[work] = Deferred("not_due", wait)
            else:
                claimed.works.append(work)
        return claimed

    def _wait(self, tries: Tries, *, others: int) -> float:
        """Seconds that this handler still backs off, where the event was woken for another one's sake."""
        if not others or tries.due is None:
            return 0.0
        left = (tries.due - self.clock.now()).total_seconds()
        return left if left > CLOCK_SKEW_SECONDS else 0.0

    def _decided(self, claim: Claim, result: Result) -> ClaimedEvent:
        """One whose body is not even looked at: the same for all of its handlers."""
        handlers = self.registry.handlers_for(claim.source, claim.type)
        if not handlers:
            return ClaimedEvent(claim, settlement=_signal(claim, Signal.NO_HANDLER, reason="no_handler"))
        claimed = ClaimedEvent(claim)
        for handler in handlers:
            attempt = claim.tries.get(handler.name, Tries()).count + 1
            event = _event(claim, data=None, headers=MappingProxyType({}), attempt=attempt)
            claimed.results[Work(claim, event, handler, self._receipt(claim, handler.name))] = result
        return claimed

    def _receipt(self, claim: Claim, handler: HandlerName) -> ReceiptKey:
        return ReceiptKey(receipt_digest(self.inbox, claim.source, claim.key), handler, claim.run)


def _event(claim: Claim, *, data: object, headers: Mapping[str, str], attempt: int) -> Event:
    return Event(
        id=claim.event_id.hex(),
        source=claim.source,
        key=claim.key,
        type=claim.type,
        entity=claim.entity,
        occurred_at=claim.occurred_at,
        received_at=claim.received_at,
        headers=headers,
        body=claim.body,
        data=data,
        attempt=attempt,
        run=claim.run,
    )


def _crashed(claim: Claim) -> Spent:
    return Spent("crash_loop", f"its worker died {claim.crashes} times while it ran alone")


def _headers(claim: Claim) -> Mapping[str, str]:
    return MappingProxyType(dict(_pairs(claim.headers)))


def _refused(claim: Claim, message: str) -> Settlement:
    return _signal(claim, Signal.REFUSE, reason="malformed_body", error="MalformedBodyError", message=message)


def _unwanted(claim: Claim) -> Settlement:
    return _buried(claim) or _signal(claim, Signal.DISMISS, reason="ignored")


def _buried(claim: Claim) -> Settlement | None:
    """A handler that runs no more gave up on it: it is a dead letter all the same."""
    buried = [name for name, tries in claim.tries.items() if tries.came_to is Outcome.DEAD]
    return _signal(claim, Signal.BURY, reason="tombstone", handler=buried[0]) if buried else None


def _untaken(claim: Claim, then: Unhandled) -> Settlement:
    """Nobody is left to run it."""
    if dead_letter := _buried(claim):
        return dead_letter
    match then:
        case Unhandled.KEEP:
            telemetry.warn("unhandled", source=claim.source, type=claim.type, event=claim.event_id)
            return _signal(claim, Signal.NO_HANDLER, reason="no_handler")
        case Unhandled.DONE:
            return _signal(claim, Signal.DISMISS, reason="unhandled")
        case Unhandled.DEAD:
            message = f"no handler of {claim.source} takes {claim.type}"
            return _signal(claim, Signal.REFUSE, reason="no_handler", message=message)
        case _:
            assert_never(then)


def _signal(
    claim: Claim, signal: Signal, *, reason: str, handler: str = "", error: str = "", message: str = ""
) -> Settlement:
    return Settlement(
        event_id=claim.event_id,
        run=claim.run,
        token=claim.token,
        signal=signal,
        tries=claim.tries,
        handler=handler,
        reason=reason,
        error=error,
        message=message,
    )
