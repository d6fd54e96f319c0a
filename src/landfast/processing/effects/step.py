"""A step that writes to the ledger's database: receipt -> perform -> stage -> commit, as a handler's event.

Crash before the COMMIT: no receipt and no writes, and it is performed afresh. After it: the next claim finds the
receipt and only settles, with the result that the receipt has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from landfast.domain.effect import ClaimedEffect
from landfast.domain.errors import StoreError
from landfast.domain.event import Effect
from landfast.domain.fault import Fault
from landfast.domain.ids import NO_INBOX, InboxId, step_name
from landfast.domain.outcome import ReceiptKey
from landfast.ports.clock import Clock
from landfast.ports.ledger import EffectStore, LedgerTransaction, ReceiptStore, Scope
from landfast.processing.group import BLAME
from landfast.processing.handlers.parameters import TX
from landfast.processing.handlers.registry import EffectHandler, Registry
from landfast.processing.handlers.results import encoded_result
from landfast.processing.handlers.stage import Stage
from landfast.processing.handlers.threads import Threads
from landfast.processing.handlers.transaction import lend
from landfast.processing.handlers.writes import WriteFailedError, Writes
from landfast.processing.invoke import HandlerRaisedError, Watch, close_scope, invoke

STEPS_AT_ONCE = 2
"""In one worker: they share the ledger's connections with the handlers, of which there is one for each hand."""

CONFLICTS_AT_MOST = 8
"""Serialization failures in a row before one counts as a try."""

NOT_OURS = "it is not ours any more: it was erased, or its lease ran out"

Wrap = Callable[[Callable[[], Any]], Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Steps:
    ledger: ReceiptStore
    effects: EffectStore
    registry: Registry
    clock: Clock
    threads: Threads
    watch: Watch
    staged: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a step has staged others."""
    inbox: InboxId = NO_INBOX
    places: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(STEPS_AT_ONCE))

    async def perform(
        self, known: EffectHandler, claimed: ClaimedEffect, effect: Effect, arguments: dict[str, Any], wrap: Wrap
    ) -> bytes | None:
        """What it returned, now or the first time. HandlerRaisedError with what it raised, or why its writes cannot be
        committed; StoreError where the ledger did not let us try, or did not say whether it committed."""
        async with self.places:
            for _ in range(CONFLICTS_AT_MOST):
                try:
                    return await self._transact(known, claimed, effect, arguments, wrap)
                except HandlerRaisedError as raised:
                    if self.ledger.diagnose(raised.error) is not Fault.CONFLICT:
                        raise
            return await self._transact(known, claimed, effect, arguments, wrap)

    async def _transact(
        self, known: EffectHandler, claimed: ClaimedEffect, effect: Effect, arguments: dict[str, Any], wrap: Wrap
    ) -> bytes | None:
        receipt = receipt_of(claimed)
        stage = Stage(self.registry, receipt, effect.event, self.clock.now, self.inbox)
        tx = await self.ledger.begin(deadline=known.deadline)
        try:
            # Forced, because a run has steps of its own only where its handler ran: an earlier run's is not this one.
            (found,) = await tx.reserve([receipt], forced=frozenset({receipt}))
            if found is not None:
                return found.result
            # It may have waited for its place for long. Not before the receipt: what is erased after that is seen.
            if not await self.effects.holds(claimed):
                raise StoreError(NOT_OURS)
            scope = await tx.scope()
            returned = await self._run(tx, scope, known, stage, partial(known.function, effect, **arguments), wrap)
            result = None if returned is None else encoded_result("effect", returned)
            results = [] if result is None else [(receipt, result)]
            # Else what it returned and staged would outlive an erasure that came while it ran.
            if not await tx.holds(claimed):
                raise StoreError(NOT_OURS)
            await tx.commit(results=results, effects=[*stage.staged.values()])
        except BLAME as error:
            raise HandlerRaisedError(error.__cause__ or error) from error
        finally:
            await tx.rollback()
        if stage.staged:
            self.staged.set()
        return result

    async def _run(
        self,
        tx: LedgerTransaction,
        scope: Scope,
        known: EffectHandler,
        stage: Stage,
        function: Callable[..., Any],
        wrap: Wrap,
    ) -> Any:
        writes = Writes(is_apart=True)
        lent = lend(scope, stage, writes, is_async=known.is_async, is_in_lane=tx.lane is not None)
        asked = (known.asked and known.asked.by_name) or {}
        given = {name: lent if kind == TX else lent.given(kind) for name, kind in asked.items()}
        returned = await invoke(
            wrap(partial(function, **given)),
            is_async=known.is_async,
            deadline=known.deadline,
            threads=self.threads,
            watch=self.watch,
            lane=tx.lane,
            then=lent.conclude,
        )
        await close_scope(scope, known.deadline)
        try:
            lent.check_awaited()
            writes.check()
        except WriteFailedError as failed:
            raise HandlerRaisedError(failed.error) from failed.error
        except Exception as error:
            raise HandlerRaisedError(error) from error
        return returned


def receipt_of(claimed: ClaimedEffect) -> ReceiptKey:
    """Under the handler that staged it, and the name that it has there: what it stages itself is named after it."""
    staged = claimed.staged
    label = f"{staged.name}:{staged.step.named}" if staged.step.named else staged.name
    return ReceiptKey(staged.digest, step_name(staged.handler, label), staged.run)
