"""The spine of processing: what one claim of events comes to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from landfast.processing.conclude import SLOW_NEIGHBOUR, Conclusion
from landfast.processing.group import Grouping
from landfast.processing.outages import Outages, Turn
from landfast.processing.pace import Pace
from landfast.processing.registry import Handler, Registry
from landfast.processing.shares import Hold, Shares
from landfast.processing.switches import Pauses
from landfast.processing.work import Deferred, Done, Failed, Paused, Plan, Result, Spent, Work

CRASHES_AT_MOST = 3
"""Crashes while running alone before an event is a dead letter: one may be bad luck, a second too, not a third."""


_pairs = msgspec.json.Decoder(list[tuple[str, str]]).decode

LOOKS_AT_LIMIT_AGAIN = 1.0
"""Seconds until an event is tried again of which one handler has run, and another was at its limit."""

WAKES_EARLY = 1.0
"""Seconds by which the database's clock may run ahead of ours without a handler being put off again."""


@dataclass(frozen=True, slots=True)
class Execution:
    inbox: InboxId
    registry: Registry
    grouping: Grouping
    outages: Outages
    conclusion: Conclusion
    clock: Clock
    pauses: Pauses = field(default_factory=Pauses)
    shares: Shares = field(default_factory=Shares)

    async def execute(self, claims: Sequence[Claim], pace: Pace, hold: Hold | None = None) -> list[Settlement]:
        """Prepare every event, run what has to run, and say what each comes to that was not let go of meanwhile."""
        hold = hold or Hold()
        hold.plans = {claim.event_id: self._prepared(claim) for claim in claims}
        await self._run(hold, pace)
        pace.went(count=len(claims), seconds=sum(map(_seconds, hold.plans.values())))
        self.shares.went(hold)
        return await self._settle(_taken(hold.plans.values()))

    async def let_go(self, hold: Hold) -> list[Settlement]:
        """A handler is slow: what it does not run now is no longer this hand's. What is decided is settled, the rest
        goes back to the inbox untried, for other hands and other workers."""
        going = _taken(plan for event, plan in hold.plans.items() if event not in hold.running)
        hold.let_go += len(going)
        for plan in going:
            for work in plan.works:
                plan.results.setdefault(work, Deferred(SLOW_NEIGHBOUR, 0.0))
        return await self._settle(going)

    def handlers_of(self, source: str, type_: str) -> Sequence[Handler]:
        """Those that would run now for such an event."""
        if source in self.pauses.sources or self.registry.wants_of(source).ignores(type_):
            return ()
        return [one for one in self.registry.handlers_for(source, type_) if one.name not in self.pauses.handlers]

    async def _settle(self, plans: Sequence[Plan]) -> list[Settlement]:
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
            return Plan(claim, settlement=_unwanted(claim))
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
            return Plan(claim, settlement=_signal(claim, Signal.NO_HANDLER, reason="no_handler"))
        plan = Plan(claim)
        for handler in handlers:
            attempt = claim.tries.get(handler.name, Tries()).count + 1
            event = _event(claim, data=None, headers=MappingProxyType({}), attempt=attempt)
            plan.results[Work(claim, event, handler, self._receipt(claim, handler.name))] = result
        return plan

    def _receipt(self, claim: Claim, handler: HandlerName) -> ReceiptKey:
        return ReceiptKey(receipt_digest(self.inbox, claim.source, claim.key), handler, claim.run)

    async def _run(self, hold: Hold, pace: Pace) -> None:
        by_handler: dict[HandlerName, list[Work]] = {}
        for plan in hold.plans.values():
            for work in plan.works:
                by_handler.setdefault(work.handler.name, []).append(work)
        # Those that were slow the last time come last, so that nobody waits for them.
        for _, works in sorted(by_handler.items(), key=lambda each: each[0] in self.shares.slow):
            await self._run_handler(works, hold, pace)

    async def _run_handler(self, works: Sequence[Work], hold: Hold, pace: Pace) -> None:
        handler = works[0].handler
        while works := [work for work in works if not hold.is_let_go(work)]:
            if not self.shares.admit(hold, handler):
                hold.note(dict.fromkeys(works, Deferred("at_its_limit", LOOKS_AT_LIMIT_AGAIN)))
                return
            match self.outages.turn_of(handler.name):
                case Turn.ALL:
                    await self.grouping.run(handler, works, hold, pace)
                    return
                case Turn.ONE:
                    await self._probe(handler, works[:1], hold, pace)
                    works = works[1:]
                case Paused() as refusal:
                    hold.note(dict.fromkeys(works, refusal))
                    return

    async def _probe(self, handler: Handler, works: Sequence[Work], hold: Hold, pace: Pace) -> None:
        try:
            await self.grouping.run(handler, works, hold, pace)
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


def _taken(plans: Iterable[Plan]) -> list[Plan]:
    """Those that nobody has taken before: each is settled once."""
    taken = [plan for plan in plans if not plan.is_let_go]
    for plan in taken:
        plan.is_let_go = True
    return taken


def _seconds(plan: Plan) -> float:
    return sum(result.seconds for result in plan.results.values() if isinstance(result, Done | Failed))


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
