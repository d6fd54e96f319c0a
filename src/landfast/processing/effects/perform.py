"""Perform staged effects after their COMMIT: at least once, each under its stable key, with retries of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Any

import msgspec

from landfast import telemetry
from landfast.domain.arrival import Awaits
from landfast.domain.effect import UNKNOWN_EFFECT, ClaimedEffect, EffectSettlement, EffectSignal
from landfast.domain.errors import StoreError, UnexpectedError
from landfast.domain.event import Effect
from landfast.domain.fault import Fault
from landfast.domain.outcome import Tries
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import EffectStore
from landfast.processing.control.dependencies import Dependencies
from landfast.processing.effects.returned import has_timed_out, inputs_of, kept_result
from landfast.processing.effects.settlements import again_soon, closed, event_of, over, settled, waits_for
from landfast.processing.effects.step import Steps
from landfast.processing.handlers.error_text import logged, name_of, shown_trace, text_of, trace_of
from landfast.processing.handlers.registry import EffectHandler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import CANCEL_GRACE_SECONDS, HandlerRaisedError, Watch, invoke
from landfast.processing.judge import Judgement, Ruling, judge
from landfast.processing.prepare import CRASHES_AT_MOST
from landfast.processing.work import Deferred
from landfast.telemetry import metrics, tracing
from landfast.telemetry.raised import raised

UNKNOWN_FIRST_SECONDS = 30.0
"""Until an effect that this worker does not know is offered again: a rolling deploy may be under way."""

UNKNOWN_LONGEST_SECONDS = 600.0
"""Between two offers of one that nobody has known for long: thousands of them must not keep the workers busy."""

UNKNOWN_AT_MOST_SECONDS = 3 * 86_400.0
"""For which nobody may know an effect. No rolling deploy takes as long, and one that was forgotten on Friday can follow
on Monday. Then it is a dead letter, and `landfast effects retry` gives it as long again."""

END_EFFECTS_SECONDS = CANCEL_GRACE_SECONDS + 1.0
"""For effects in hand when their worker ends around them: each has its grace, and is left behind then."""

WAITS = "WaitFor"
"""The `error` of an effect that waits for what it uses."""

_OUTCOMES = {
    EffectSignal.FINISH: "done",
    EffectSignal.RETRY: "retry",
    EffectSignal.BURY: "dead",
    EffectSignal.POSTPONE: "postpone",
}

UNKNOWN_TOLD_EVERY_SECONDS = 300.0
"""Between two lines in the log about effects of one name that this worker does not know."""


@dataclass(frozen=True, slots=True)
class Performance:
    store: EffectStore
    registry: Registry
    clock: Clock
    chance: Chance
    threads: Threads
    watch: Watch
    dependencies: Dependencies
    steps: Steps
    told: dict[str, float] = field(default_factory=dict)
    """When the log was last told of effects of a name that is not registered here."""

    async def perform(self, claimed: Sequence[ClaimedEffect]) -> AsyncGenerator[ClaimedEffect]:
        """Perform all of them side by side and write down what came of each; each of them, once it was written down.

        Crash before the settlement: it is performed again under the same key, which is what the key is for.
        """
        running = {asyncio.ensure_future(self._perform_one(effect)): effect for effect in claimed}
        try:
            while running:
                # As they end: a slow one does not keep what the others came to in memory.
                ended, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                await self._settle(settlements := [task.result() for task in ended])
                for settlement, effect in zip(settlements, map(running.__getitem__, ended), strict=True):
                    metrics.EFFECTS.add(effect.staged.name, _OUTCOMES[settlement.signal])
                for task in ended:
                    yield running.pop(task)
        finally:
            await _end(running)

    async def _settle(self, settlements: Sequence[EffectSettlement]) -> None:
        try:
            await self.store.settle(settlements)
        except StoreError as error:
            telemetry.warn("effects_settle_failed", count=len(settlements), error=error)

    async def _perform_one(self, claimed: ClaimedEffect) -> EffectSettlement:
        if (arrival := claimed.staged.step.arrival) is not None:
            return await self._missed(claimed, arrival)
        known = self.registry.effects.get(claimed.staged.name)
        if claimed.crashes >= CRASHES_AT_MOST:
            return settled(claimed, EffectSignal.BURY, error="crash_loop", message="its worker died while it ran alone")
        if claimed.closed:
            return closed(claimed)
        if known is None:
            return self._unknown(claimed)
        if not known.uses:
            return await self._try(known, claimed)
        async with self.dependencies.turn_of_effect(known.uses) as wait:
            if wait is not None:
                return settled(claimed, EffectSignal.POSTPONE, due_in=wait, error=WAITS, message=waits_for(known))
            return await self._try(known, claimed)

    async def _missed(self, claimed: ClaimedEffect, arrival: Awaits) -> EffectSettlement:
        """Nothing is performed for an arrival: its deadline is over. If its event comes before this is written down,
        that ends it, and what we come to is nobody's."""
        try:
            return over(claimed, arrival, await self.store.arrived(claimed))
        except StoreError as error:
            return again_soon(claimed, error)

    async def _try(self, known: EffectHandler, claimed: ClaimedEffect) -> EffectSettlement:
        started = self.clock.monotonic()
        try:
            result = await self._call(known, claimed)
        except HandlerRaisedError as raised:
            return self._failed(known, claimed, raised.error, self.clock.monotonic() - started)
        except StoreError as error:
            return again_soon(claimed, error)
        except Exception as unexpected:  # noqa: BLE001 - one that we did not foresee must not cost the others theirs
            telemetry.error("unexpected", effect=known.name, trace=unexpected)
            return self._failed(known, claimed, unexpected, self.clock.monotonic() - started)
        self.dependencies.served(known.uses, claimed.staged.key)
        telemetry.info("effect_performed", effect=known.name, key=claimed.staged.key, event=event_of(claimed))
        tries = Tries(claimed.tries.count + 1, claimed.tries.spent)
        return settled(claimed, EffectSignal.FINISH, tries=tries, result=result)

    def _unknown(self, claimed: ClaimedEffect) -> EffectSettlement:
        """Another worker may know it. Until one does, the time is counted, apart from that of its tries."""
        name, waited = claimed.staged.name, claimed.unknown_seconds
        if waited >= UNKNOWN_AT_MOST_SECONDS:
            message = (
                f"no worker has known an effect named {name} for {UNKNOWN_AT_MOST_SECONDS / 86_400:.0f} days; "
                f"register it with @inbox.effect, then landfast effects retry {claimed.staged.key}"
            )
            telemetry.warn("effect_dead", effect=name, event=event_of(claimed), reason="unknown_effect", error=message)
            return settled(claimed, EffectSignal.BURY, error=UNKNOWN_EFFECT, message=message)
        now = self.clock.monotonic()
        if now - self.told.get(name, -inf) >= UNKNOWN_TOLD_EVERY_SECONDS:
            self.told[name] = now
            telemetry.warn("unknown_effect", effect=name, event=event_of(claimed), seconds=f"{waited:.0f}")
        delay = min(max(UNKNOWN_FIRST_SECONDS, waited), UNKNOWN_LONGEST_SECONDS)
        return settled(
            claimed,
            EffectSignal.POSTPONE,
            due_in=delay,
            unknown_seconds=waited + delay,
            error=UNKNOWN_EFFECT,
            message=f"no effect named {name} is registered in this worker; register it with @inbox.effect",
        )

    async def _call(self, known: EffectHandler, claimed: ClaimedEffect) -> bytes | None:
        """What it returned, as far as that can be kept."""
        staged = claimed.staged
        effect = Effect(
            key=staged.key,
            name=staged.name,
            attempt=claimed.tries.count + 1,
            run=staged.run,
            event=msgspec.json.decode(staged.context),
            timed_out=has_timed_out(claimed),
        )
        arguments = msgspec.json.decode(staged.arguments) | inputs_of(claimed)
        if known.asked is not None:
            return await self.steps.perform(known, claimed, effect, arguments, partial(_traced, known, effect))
        returned = await invoke(
            _traced(known, effect, partial(known.function, effect, **arguments)),
            is_async=known.is_async,
            deadline=known.deadline,
            threads=self.threads,
            watch=self.watch,
        )
        return kept_result(claimed, returned)

    def _failed(
        self, known: EffectHandler, claimed: ClaimedEffect, error: BaseException, seconds: float
    ) -> EffectSettlement:
        if (name := self.dependencies.blamed(known.uses, error)) and (
            uncounted := self.dependencies.found_away(name, claimed.staged.key, error)
        ):
            after = uncounted.after if isinstance(uncounted, Deferred) else self.dependencies.remaining(known.uses)
            return settled(claimed, EffectSignal.POSTPONE, due_in=after, error=WAITS, message=waits_for(known))
        self.dependencies.refused(known.uses, claimed.staged.key, error)
        before = claimed.tries
        judgement = self._judgement(known, error, before, seconds)
        charged = judgement.after if judgement.charged is None else judgement.charged
        dead = judgement.ruling is Ruling.BURY
        place = logged(error)
        facts = {"effect": known.name, "event": event_of(claimed), "error": place}
        raised("effect_dead" if dead else "effect_failed", known.name, place, error, facts)
        if dead:
            telemetry.warn_in_detail("effect_dead", partial(shown_trace, error), reason=judgement.reason, **facts)
        else:
            then, detail = f"retry in {judgement.after:.1f} s", partial(shown_trace, error)
            telemetry.warn_in_detail("effect_failed", detail, attempt=before.count + 1, then=then, **facts)
        return settled(
            claimed,
            EffectSignal.BURY if dead else EffectSignal.RETRY,
            due_in=judgement.after,
            tries=Tries(before.count + 1, before.spent + seconds + charged),
            error=name_of(error),
            message=text_of(error),
            trace=trace_of(error),
        )

    def _judgement(self, known: EffectHandler, error: BaseException, before: Tries, seconds: float) -> Judgement:
        judged = partial(
            judge,
            fault=Fault.OTHER,
            tries=before,
            attempts=known.attempts,
            backoff=known.backoff,
            seconds=seconds,
            now=self.clock.now(),
            fraction=self.chance.fraction(),
        )
        try:
            return judged(error)
        except BaseException as unexpected:  # noqa: BLE001 - to judge an error is to read it, and its class is the user's
            telemetry.error("not_judged", effect=known.name, error=logged(unexpected))
            return judged(UnexpectedError())


async def _end(running: Collection[asyncio.Task[EffectSettlement]]) -> None:
    """Their worker ends. None of them may still use a store when that closes."""
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=END_EFFECTS_SECONDS)


def _traced(known: EffectHandler, effect: Effect, function: Callable[[], Any]) -> Callable[[], Any]:
    event = effect.event
    if "id" not in event:  # staged by a hand of somebody else's
        return function

    def facts() -> Mapping[str, Any]:
        named = {name: event.get(name, "") for name in ("key", "source", "type")}
        return {**named, "run": effect.run, "attempt": effect.attempt, "effect": effect.name, "effect.key": effect.key}

    name = f"landfast effect {effect.name}"
    return tracing.traced(name, bytes.fromhex(event["id"]), facts, function, is_async=known.is_async)
