"""From a claimed event to what has to run for it: its body decoded, its handlers matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import assert_never

import msgspec

from landfast import telemetry
from landfast.domain import body
from landfast.domain.arrival import Arrived, arrival_key, is_brought_by
from landfast.domain.errors import MalformedBodyError
from landfast.domain.event import Event
from landfast.domain.fault import Fault
from landfast.domain.ids import HandlerName, InboxId, receipt_digest
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Outcome, ReceiptKey, Settlement, Tries, alone
from landfast.domain.reading import name_in
from landfast.domain.unhandled import Unhandled
from landfast.ports.clock import Clock
from landfast.processing.control.switches import Pauses
from landfast.processing.handlers.registry import Handler, OnDead, Registry
from landfast.processing.lane_rules import mark_of, newest_of, step_of
from landfast.processing.work import BEHIND, ClaimedEvent, Deferred, Failed, Paused, Result, Spent, Work

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
        return [one for one in self.registry.handlers_for(source, type_) if not self.pauses.own_switch_of(one)]

    def _prepare(self, claim: Claim) -> ClaimedEvent:
        if switch := self.pauses.sources.get(claim.source):
            return ClaimedEvent(
                claim, settlement=_signal(claim, Signal.PAUSE, reason=switch.reason, message=switch.why)
            )
        wants = self.registry.wants_of(claim.source)
        if wants.ignores(claim.type):
            return ClaimedEvent(claim, settlement=_passing(_unwanted(claim), claim))
        handlers = self._handlers_for(claim)
        if not handlers and (only := alone(claim.tries)):
            return ClaimedEvent(claim, settlement=_nobody(claim, only))
        if claim.crashes >= CRASHES_AT_MOST and handlers:
            # Before decoding: the bytes themselves may be what kills us.
            return self._decided(claim, _crashed(claim))
        headers = _headers(claim)
        try:
            data = body.decode(claim.body, headers.get("content-type"))
        except MalformedBodyError as error:
            blocks = any(one.on_dead is OnDead.BLOCK for one in self._ordered(claim))
            return ClaimedEvent(claim, settlement=_passing(_refused(claim, str(error)), claim, is_passed=not blocks))
        if not handlers:
            return ClaimedEvent(claim, settlement=_passing(_untaken(claim, wants.unhandled), claim))
        claimed = ClaimedEvent(claim, ordered=self._ordered(claim))
        for handler in handlers:
            tries = claim.tries.get(handler.name, Tries())
            event = _event(claim, data=data, headers=headers, attempt=tries.count + 1)
            self._add(claimed, event, handler, tries, others=len(handlers) - 1)
        return claimed

    def _add(self, claimed: ClaimedEvent, event: Event, handler: Handler, tries: Tries, *, others: int) -> None:
        """One handler's part: to run, or what it came to already."""
        work, kept_from = self._work(claimed.claim, event, handler, tries)
        if handler.ordered and claimed.claim.is_behind:
            claimed.results[work] = BEHIND
        elif switch := self.pauses.own_switch_of(handler):
            claimed.results[work] = Paused(switch.reason, switch.why)
        elif wait := self._wait(tries, others=others):
            claimed.results[work] = Deferred("not_due", wait)
        elif kept_from is not None:
            claimed.results[work] = kept_from
        else:
            claimed.works.append(work)

    def _work(self, claim: Claim, event: Event, handler: Handler, tries: Tries) -> tuple[Work, Failed | Spent | None]:
        """With what its handler's rules say of it, and why it cannot run, if it cannot."""
        plain = Work(
            claim,
            event,
            handler,
            self._receipt(claim, handler.name),
            mark_of(self.inbox, handler, claim),
            newest_of(self.inbox, handler, event),
        )
        machine = self.registry.machines.get(handler.lifecycle) if handler.lifecycle is not None else None
        if machine is None and not self.registry.arrivals:
            return plain, None
        try:
            plain = replace(plain, arrival=self._arrival(event, handler.name))
            if machine is None:
                return plain, None
            step = step_of(self.inbox, machine, event, tries)
        except Exception as error:  # noqa: BLE001 - what reads the entity or the state may be the user's own function
            return plain, Failed(error, Fault.OTHER)
        return (plain, step) if isinstance(step, Spent) else (replace(plain, step=step), None)

    def _arrival(self, event: Event, handler: HandlerName) -> Arrived | None:
        """What others may wait for: none where nobody declared it, or where the event is about nothing."""
        for arrival in self.registry.arrivals:
            if is_brought_by(arrival, event, handler) and (entity := name_in(arrival.entity(event))) is not None:
                return Arrived(arrival_key(self.inbox, arrival, entity), event.id)
        return None

    def _handlers_for(self, claim: Claim) -> Sequence[Handler]:
        """Those that match; of a replay of one alone, that one."""
        matching = self.registry.handlers_for(claim.source, claim.type)
        only = alone(claim.tries) if claim.tries else None
        return matching if only is None else [handler for handler in matching if handler.name == only]

    def _wait(self, tries: Tries, *, others: int) -> float:
        """Seconds that this handler still backs off, where the event was woken for another one's sake."""
        if not others or tries.due is None:
            return 0.0
        left = (tries.due - self.clock.now()).total_seconds()
        return left if left > CLOCK_SKEW_SECONDS else 0.0

    def _decided(self, claim: Claim, result: Result) -> ClaimedEvent:
        """One whose body is not even looked at: the same for all of its handlers."""
        handlers = self._handlers_for(claim)
        if not handlers:
            nobody = _signal(claim, Signal.NO_HANDLER, reason="no_handler")
            return ClaimedEvent(claim, settlement=_passing(nobody, claim))
        claimed = ClaimedEvent(claim, ordered=self._ordered(claim))
        for handler in handlers:
            attempt = claim.tries.get(handler.name, Tries()).count + 1
            event = _event(claim, data=None, headers=MappingProxyType({}), attempt=attempt)
            work = Work(claim, event, handler, self._receipt(claim, handler.name))
            claimed.results[work] = BEHIND if handler.ordered and claim.is_behind else result
        return claimed

    def _ordered(self, claim: Claim) -> Sequence[Handler]:
        return [one for one in self.registry.handlers_for(claim.source, claim.type) if one.ordered]

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


def _passing(settlement: Settlement, claim: Claim, *, is_passed: bool = True) -> Settlement:
    """No ordered handler has anything to do with it: its lane does not wait for it."""
    return replace(settlement, is_passed=is_passed and claim.holds)


def _crashed(claim: Claim) -> Spent:
    return Spent("crash_loop", f"its worker died {claim.crashes} times while it ran alone")


def _headers(claim: Claim) -> Mapping[str, str]:
    return MappingProxyType(dict(_pairs(claim.headers)))


def _nobody(claim: Claim, only: HandlerName) -> Settlement:
    """Not unhandled: the next worker with any handler for its type would take that up, for ever."""
    message = f"it was replayed for the handler {only} alone, and no worker has one of that name for it"
    return _signal(claim, Signal.REFUSE, reason="no_handler", handler=only, message=message)


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
        lane=claim.lane,
    )
