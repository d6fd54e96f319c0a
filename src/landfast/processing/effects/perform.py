"""Perform staged effects after their COMMIT: at least once, each under its stable key, with retries of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf

import msgspec

from landfast import telemetry
from landfast.domain.effect import UNKNOWN_EFFECT, ClaimedEffect, EffectSettlement, EffectSignal
from landfast.domain.errors import StoreError, UnexpectedError
from landfast.domain.event import Effect
from landfast.domain.fault import Fault
from landfast.domain.outcome import ANOTHER_WORKER_SECONDS, NO_MASTER_KEY, Tries
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import EffectStore
from landfast.processing.handlers.error_text import logged, name_of, text_of, trace_of
from landfast.processing.handlers.registry import EffectHandler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import CANCEL_GRACE_SECONDS, HandlerRaisedError, Watch, invoke
from landfast.processing.judge import Judgement, Ruling, judge
from landfast.processing.prepare import CRASHES_AT_MOST

UNKNOWN_FIRST_SECONDS = 30.0
"""Until an effect that this worker does not know is offered again: a rolling deploy may be under way."""

UNKNOWN_LONGEST_SECONDS = 600.0
"""Between two offers of one that nobody has known for long: thousands of them must not keep the workers busy."""

UNKNOWN_AT_MOST_SECONDS = 3 * 86_400.0
"""For which nobody may know an effect. No rolling deploy takes as long, and one that was forgotten on Friday can follow
on Monday. Then it is a dead letter, and `landfast effects retry` gives it as long again."""

END_EFFECTS_SECONDS = CANCEL_GRACE_SECONDS + 1.0
"""For effects in hand when their worker ends around them: each has its grace, and is left behind then."""

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
                await self._settle([task.result() for task in ended])
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
        known = self.registry.effects.get(claimed.staged.name)
        if claimed.crashes >= CRASHES_AT_MOST:
            return _settled(
                claimed, EffectSignal.BURY, error="crash_loop", message="its worker died while it ran alone"
            )
        if claimed.closed:
            return _closed(claimed)
        if known is None:
            return self._unknown(claimed)
        started = self.clock.monotonic()
        try:
            await self._call(known, claimed)
        except HandlerRaisedError as raised:
            return self._failed(known, claimed, raised.error, self.clock.monotonic() - started)
        except Exception as unexpected:  # noqa: BLE001 - one that we did not foresee must not cost the others theirs
            telemetry.error("unexpected", effect=known.name, trace=unexpected)
            return self._failed(known, claimed, unexpected, self.clock.monotonic() - started)
        telemetry.info("effect_performed", effect=known.name, key=claimed.staged.key)
        return _settled(claimed, EffectSignal.FINISH, tries=Tries(claimed.tries.count + 1, claimed.tries.spent))

    def _unknown(self, claimed: ClaimedEffect) -> EffectSettlement:
        """Another worker may know it. Until one does, the time is counted, apart from that of its tries."""
        name, waited = claimed.staged.name, claimed.unknown_seconds
        if waited >= UNKNOWN_AT_MOST_SECONDS:
            message = (
                f"no worker has known an effect named {name} for {UNKNOWN_AT_MOST_SECONDS / 86_400:.0f} days; "
                f"register it with @inbox.effect, then landfast effects retry {claimed.staged.key}"
            )
            telemetry.warn("effect_dead", effect=name, event=_event_of(claimed), reason="unknown_effect", error=message)
            return _settled(claimed, EffectSignal.BURY, error=UNKNOWN_EFFECT, message=message)
        now = self.clock.monotonic()
        if now - self.told.get(name, -inf) >= UNKNOWN_TOLD_EVERY_SECONDS:
            self.told[name] = now
            telemetry.warn("unknown_effect", effect=name, event=_event_of(claimed), seconds=f"{waited:.0f}")
        delay = min(max(UNKNOWN_FIRST_SECONDS, waited), UNKNOWN_LONGEST_SECONDS)
        return _settled(
            claimed,
            EffectSignal.POSTPONE,
            due_in=delay,
            unknown_seconds=waited + delay,
            error=UNKNOWN_EFFECT,
            message=f"no effect named {name} is registered in this worker; register it with @inbox.effect",
        )

    async def _call(self, known: EffectHandler, claimed: ClaimedEffect) -> None:
        staged = claimed.staged
        effect = Effect(
            key=staged.key,
            name=staged.name,
            attempt=claimed.tries.count + 1,
            run=staged.run,
            event=msgspec.json.decode(staged.context),
        )
        await invoke(
            partial(known.function, effect, **msgspec.json.decode(staged.arguments)),
            is_async=known.is_async,
            deadline=known.deadline,
            threads=self.threads,
            watch=self.watch,
        )

    def _failed(
        self, known: EffectHandler, claimed: ClaimedEffect, error: BaseException, seconds: float
    ) -> EffectSettlement:
        before = claimed.tries
        judgement = self._judgement(known, error, before, seconds)
        charged = judgement.after if judgement.charged is None else judgement.charged
        dead = judgement.ruling is Ruling.BURY
        if dead:
            reason, shown = judgement.reason, logged(error)
            telemetry.warn("effect_dead", effect=known.name, event=_event_of(claimed), reason=reason, error=shown)
        return _settled(
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


def _closed(claimed: ClaimedEffect) -> EffectSettlement:
    telemetry.warn("no_master_key", effect=claimed.staged.name, event=_event_of(claimed), reason=claimed.closed)
    return _settled(
        claimed,
        EffectSignal.POSTPONE,
        due_in=ANOTHER_WORKER_SECONDS,
        unknown_seconds=claimed.unknown_seconds,
        error=NO_MASTER_KEY,
        message=claimed.closed,
    )


def _event_of(claimed: ClaimedEffect) -> object:
    return msgspec.json.decode(claimed.staged.context).get("id")


def _settled(
    claimed: ClaimedEffect,
    signal: EffectSignal,
    *,
    due_in: float = 0.0,
    tries: Tries | None = None,
    unknown_seconds: float = 0.0,
    error: str = "",
    message: str = "",
    trace: str = "",
) -> EffectSettlement:
    return EffectSettlement(
        key=claimed.staged.key,
        run=claimed.staged.run,
        token=claimed.token,
        signal=signal,
        due_in=due_in,
        tries=claimed.tries if tries is None else tries,
        unknown_seconds=unknown_seconds,
        error=error,
        message=message,
        trace=trace,
    )
