"""The spine of processing: what one claim of events comes to."""

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
from landfast.domain.outcome import Claim, ReceiptKey, Settlement, Tries
from landfast.domain.unhandled import Unhandled
from landfast.ports.clock import Clock
from landfast.processing.conclude import Conclusion
from landfast.processing.group import Grouping
from landfast.processing.outages import Outages, Turn
from landfast.processing.pace import Pace
from landfast.processing.registry import Handler, Registry
from landfast.processing.switches import Pauses
from landfast.processing.work import Deferred, Done, Failed, Paused, Result, Spent, Work

CRASHES_AT_MOST = 3
"""Crashes while running alone before an event is a dead letter: one may be bad luck, a second too, not a third."""


_pairs = msgspec.json.Decoder(list[tuple[str, str]]).decode

WAKES_EARLY = 1.0
"""Seconds by which the database's clock may run ahead of ours without a handler being put off again."""


@dataclass(slots=True)
class Plan:
    """One claimed event: what is to run, and what came of it."""

    claim: Claim
    works: list[Work] = field(default_factory=list)
    results: dict[Work, Result] = field(default_factory=dict)
    settlement: Settlement | None = None
    """Decided without running anything."""


@dataclass(frozen=True, slots=True)
class Execution:
    inbox: InboxId
    registry: Registry
    grouping: Grouping
    outages: Outages
    conclusion: Conclusion
    clock: Clock
    pauses: Pauses = field(default_factory=Pauses)

    async def execute(self, claims: Sequence[Claim], pace: Pace) -> list[Settlement]:
        """Prepare every event, run what has to run, and say what each comes to."""
        plans = [self._prepared(claim) for claim in claims]
        await self._run(plans, pace)
        pace.went(count=len(claims), seconds=sum(map(_seconds, plans)))
        open_plans = [plan for plan in plans if plan.settlement is None]
        concluded = await self.conclusion.conclude([(plan.claim, plan.results) for plan in open_plans])
        return [plan.settlement for plan in plans if plan.settlement is not None] + concluded

    def _prepared(self, claim: Claim) -> Plan:
        try:
            return self._prepare(claim)
        except Exception as unexpected:  # noqa: BLE001 - its neighbours of this claim go on
            telemetry.error("not_prepared", event=claim.event_id, trace=unexpected)
            return self._decided(claim, Failed(unexpected, Fault.OTHER))

    def _prepare(self, claim: Claim) -> Plan:
        if switch := self.pauses.sources.get(claim.source):
            return Plan(claim, settlement=_signal(claim, Signal.PAUSE, reason=switch.reason, message=switch.why))
        wants = self.registry.wants_of(claim.source)
        if wants.ignores(claim.type):
            return Plan(claim, settlement=_signal(claim, Signal.DISMISS, reason="ignored"))
        handlers = self.registry.handlers_for(claim.source, claim.type)
        if claim.crashes >= CRASHES_AT_MOST and handlers:
            # Before decoding: the bytes themselves may be what kills us.
            return self._decided(claim, _crashed(claim))
        headers = _headers(claim)
        try:
            data = body.decode(claim.body, headers.get("content-type"))
        except MalformedBodyError as error:
            return Plan(claim, settlement=_refused(claim, str(error)))
        if not handlers:
            return Plan(claim, settlement=_untaken(claim, wants.unhandled))
        plan = Plan(claim)
        for handler in handlers:
            tries = claim.tries.get(handler.name, Tries())
            event = _event(claim, data=data, headers=headers, attempt=tries.count + 1)
            work = Work(claim, event, handler, self._receipt(claim, handler.name))
            if switch := self.pauses.handlers.get(handler.name):
                plan.results[work] = Paused(switch.reason, switch.why)
            elif wait := self._wait(tries, others=len(handlers) - 1):
                plan.results[work] = Deferred("not_due", wait)
            else:
                plan.works.append(work)
        return plan

    def _wait(self, tries: Tries, *, others: int) -> float:
        """Seconds that this handler still backs off, where the event was woken for another one's sake."""
        if not others or tries.due is None:
            return 0.0
        left = (tries.due - self.clock.now()).total_seconds()
        return left if left > WAKES_EARLY else 0.0

    def _decided(self, claim: Claim, result: Result) -> Plan:
        """One whose body is not even looked at: the same for all of its handlers."""
        handlers = self.registry.handlers_for(claim.source, claim.type)
        if not handlers:
            return Plan(claim, settlement=_signal(claim, Signal.SHELVE, reason="no_handler"))
        plan = Plan(claim)
        for handler in handlers:
            attempt = claim.tries.get(handler.name, Tries()).count + 1
            event = _event(claim, data=None, headers=MappingProxyType({}), attempt=attempt)
            plan.results[Work(claim, event, handler, self._receipt(claim, handler.name))] = result
        return plan

    def _receipt(self, claim: Claim, handler: HandlerName) -> ReceiptKey:
        return ReceiptKey(receipt_digest(self.inbox, claim.source, claim.key), handler, claim.run)

    async def _run(self, plans: Sequence[Plan], pace: Pace) -> None:
        by_handler: dict[HandlerName, list[Work]] = {}
        owner: dict[Work, Plan] = {}
        for plan in plans:
            for work in plan.works:
                by_handler.setdefault(work.handler.name, []).append(work)
                owner[work] = plan
        for works in by_handler.values():
            for work, result in (await self._run_handler(works, pace)).items():
                owner[work].results[work] = result

    async def _run_handler(self, works: Sequence[Work], pace: Pace) -> dict[Work, Result]:
        handler, results = works[0].handler, dict[Work, Result]()
        while works:
            match self.outages.turn_of(handler.name):
                case Turn.ALL:
                    return results | await self.grouping.run(handler, works, pace)
                case Turn.ONE:
                    results |= await self._probe(handler, works[:1], pace)
                    works = works[1:]
                case Paused() as refusal:
                    return results | dict.fromkeys(works, refusal)
        return results

    async def _probe(self, handler: Handler, works: Sequence[Work], pace: Pace) -> dict[Work, Result]:
        try:
            return await self.grouping.run(handler, works, pace)
        finally:
            self.outages.end_probe(handler.name)


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


def _seconds(plan: Plan) -> float:
    return sum(result.seconds for result in plan.results.values() if isinstance(result, Done | Failed))


def _refused(claim: Claim, message: str) -> Settlement:
    return _signal(claim, Signal.REFUSE, reason="malformed_body", error="MalformedBodyError", message=message)


def _untaken(claim: Claim, then: Unhandled) -> Settlement:
    match then:
        case Unhandled.KEEP:
            telemetry.warn("unhandled", source=claim.source, type=claim.type, event=claim.event_id)
            return _signal(claim, Signal.SHELVE, reason="no_handler")
        case Unhandled.DONE:
            return _signal(claim, Signal.DISMISS, reason="unhandled")
        case Unhandled.DEAD:
            message = f"no handler of {claim.source} takes {claim.type}"
            return _signal(claim, Signal.REFUSE, reason="no_handler", message=message)
        case _:
            assert_never(then)


def _signal(claim: Claim, signal: Signal, *, reason: str, error: str = "", message: str = "") -> Settlement:
    return Settlement(
        event_id=claim.event_id,
        run=claim.run,
        token=claim.token,
        signal=signal,
        tries=claim.tries,
        reason=reason,
        error=error,
        message=message,
    )
