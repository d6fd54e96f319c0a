"""Perform staged effects after their COMMIT: at least once, each under its stable key, with retries of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import msgspec

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.event import Effect
from landfast.domain.fault import Fault
from landfast.domain.outcome import ClaimedEffect, EffectSettlement, EffectState, Tries
from landfast.ports.clock import Chance, Clock
from landfast.ports.ledger import EffectStore
from landfast.processing.error_text import line_of, name_of, text_of, trace_of
from landfast.processing.execute import CRASHES_AT_MOST
from landfast.processing.invoke import HandlerRaisedError, Watch, invoke
from landfast.processing.judge import Ruling, judge
from landfast.processing.registry import EffectHandler, Registry
from landfast.processing.threads import Threads

UNKNOWN_EFFECT_DELAY = 30.0
"""Seconds until an effect that this worker does not know is offered again: a rolling deploy may be under way."""


@dataclass(frozen=True, slots=True)
class Performance:
    store: EffectStore
    registry: Registry
    clock: Clock
    chance: Chance
    threads: Threads
    watch: Watch

    async def perform(self, claimed: Sequence[ClaimedEffect]) -> None:
        """Perform all of them side by side and write down what came of each.

        Crash before the settlement: it is performed again under the same key, which is what the key is for.
        """
        running = {asyncio.ensure_future(self._perform_one(effect)) for effect in claimed}
        try:
            while running:
                # As they end: a slow one does not keep what the others came to in memory.
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                await self._settle([task.result() for task in ended])
        finally:
            for task in running:
                task.cancel()

    async def _settle(self, settlements: Sequence[EffectSettlement]) -> None:
        try:
            await self.store.settle(settlements)
        except StoreError as error:
            telemetry.warn("effects_settle_failed", count=len(settlements), why=error)

    async def _perform_one(self, claimed: ClaimedEffect) -> EffectSettlement:
        staged = claimed.staged
        known = self.registry.effects.get(staged.name)
        if claimed.crashes >= CRASHES_AT_MOST:
            return _settled(claimed, EffectState.DEAD, error="crash_loop", message="its worker died while it ran alone")
        if known is None:
            message = f"no effect named {staged.name} is registered in this worker"
            return _settled(claimed, EffectState.DELAYED, due_in=UNKNOWN_EFFECT_DELAY, message=message)
        started = self.clock.monotonic()
        try:
            await self._call(known, claimed)
        except HandlerRaisedError as raised:
            return self._failed(known, claimed, raised.error, self.clock.monotonic() - started)
        telemetry.info("effect_performed", name=staged.name, key=staged.key)
        return _settled(claimed, EffectState.DONE, tries=Tries(claimed.tries.count + 1, claimed.tries.spent))

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
        judgement = judge(
            error,
            fault=Fault.OTHER,
            tries=claimed.tries,
            attempts=known.attempts,
            backoff=known.backoff,
            seconds=seconds,
            now=self.clock.now(),
            fraction=self.chance.fraction(),
        )
        dead = judgement.ruling is Ruling.BURY
        if dead:
            error_shown = line_of(error)[:300]
            event = msgspec.json.decode(claimed.staged.context).get("id")
            telemetry.warn("effect_dead", name=known.name, event=event, reason=judgement.reason, error=error_shown)
        return _settled(
            claimed,
            EffectState.DEAD if dead else EffectState.DELAYED,
            due_in=judgement.after,
            tries=Tries(claimed.tries.count + 1, claimed.tries.spent + seconds + judgement.after),
            error=name_of(error),
            message=text_of(error),
            trace=trace_of(error),
        )


def _settled(
    claimed: ClaimedEffect,
    state: EffectState,
    *,
    due_in: float = 0.0,
    tries: Tries | None = None,
    error: str = "",
    message: str = "",
    trace: str = "",
) -> EffectSettlement:
    return EffectSettlement(
        key=claimed.staged.key,
        run=claimed.staged.run,
        token=claimed.token,
        state=state,
        due_in=due_in,
        tries=claimed.tries if tries is None else tries,
        error=error,
        message=message,
        trace=trace,
    )
