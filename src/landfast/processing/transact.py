"""The receipt-first transaction: receipt -> handle -> stage -> commit, for one handler and one or many events.

The receipt's unique key is the fence. Nothing here depends on a clock, a lease or a heartbeat: a zombie and its
successor meet at the INSERT of the receipt, and the second finds what the first committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec

from landfast.domain.effect import StagedEffect
from landfast.domain.errors import UserError
from landfast.domain.json_limits import excess
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.ports.clock import Clock
from landfast.ports.ledger import LedgerTransaction, ReceiptStore
from landfast.processing.fairness.pace import GROUP_SECONDS_AT_MOST
from landfast.processing.handlers.error_text import name_of, text_of
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.handlers.threads import Threads
from landfast.processing.handlers.transaction import BlockingTransaction, Stage, Transaction
from landfast.processing.invoke import HandlerRaisedError, Watch, invoke
from landfast.processing.work import Buried, Done, Result, Work

RESULT_BYTES_AT_MOST = 64 * 1024
"""Bytes of a handler's stored result: ids and a compact response, not a second copy of the body."""


class StumbledError(Exception):
    """The handler raised at one event of the group; the whole transaction was rolled back."""

    def __init__(self, work: Work, error: BaseException, seconds: float) -> None:
        super().__init__(name_of(error))
        self.work = work
        self.error = error
        self.seconds = seconds


@dataclass(slots=True)
class Handled:
    """What ran inside the transaction, to be committed with it."""

    seconds: dict[ReceiptKey, float] = field(default_factory=dict)
    results: list[tuple[ReceiptKey, bytes]] = field(default_factory=list)
    effects: list[StagedEffect] = field(default_factory=list)

    def note(self, receipt: ReceiptKey, lent: Transaction | BlockingTransaction, stage: Stage, result: Any) -> None:
        """What the handler has asked for and what it returned. HandlerRaisedError where either cannot be committed."""
        try:
            lent.check_awaited()
        except UserError as error:
            raise HandlerRaisedError(error) from error
        if result is not None:
            self.results.append((receipt, _encoded(result)))
        self.effects.extend(stage.staged.values())


@dataclass(frozen=True, slots=True)
class Transactor:
    ledger: ReceiptStore
    registry: Registry
    clock: Clock
    threads: Threads
    watch: Watch
    staged: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there are effects to perform."""

    async def transact(self, handler: Handler, works: Sequence[Work]) -> dict[Work, Result]:
        """What came of each event that was reached. Those that are not in the answer left no trace: run them again.

        Crash before the COMMIT: no receipt, no writes, the next claim starts afresh. After it: the next claim finds the
        receipts and only settles.
        """
        tx = await self.ledger.begin(deadline=handler.deadline, isolation=handler.isolation)
        try:
            found = await self._reserve(tx, works)
            ours = [work for work in works if found[work.receipt] is None]
            handled = await self._handle(tx, ours)
            await self._withdraw(tx, ours, handled)
            await tx.commit(results=handled.results, effects=handled.effects)
        except BaseException:
            await tx.rollback()
            raise
        if handled.effects:
            self.staged.set()
        return _results(works, found, handled)

    async def _reserve(self, tx: LedgerTransaction, works: Sequence[Work]) -> dict[ReceiptKey, Receipt | None]:
        keys = [work.receipt for work in works]
        forced = frozenset(work.receipt for work in works if work.claim.forced)
        return dict(zip(keys, await tx.reserve(keys, forced=forced), strict=True))

    async def _handle(self, tx: LedgerTransaction, works: Sequence[Work]) -> Handled:
        handled, spent = Handled(), 0.0
        for number, work in enumerate(works):
            if number:
                await tx.reset()
            handler, stage = work.handler, Stage(self.registry, work.receipt, work.event)
            lent = Transaction(tx.handle, stage) if handler.is_async else BlockingTransaction(tx.handle, stage)
            started = self.clock.monotonic()
            try:
                result = await invoke(
                    partial(handler.function, work.event, lent),
                    is_async=handler.is_async,
                    deadline=handler.deadline,
                    threads=self.threads,
                    watch=self.watch,
                    handler=handler.name,
                )
                handled.note(work.receipt, lent, stage, result)
            except HandlerRaisedError as raised:
                raise StumbledError(work, raised.error, self.clock.monotonic() - started) from raised.error
            handled.seconds[work.receipt] = self.clock.monotonic() - started
            spent += handled.seconds[work.receipt]
            if spent > GROUP_SECONDS_AT_MOST:
                break
        return handled

    async def _withdraw(self, tx: LedgerTransaction, ours: Sequence[Work], handled: Handled) -> None:
        unreached = [work.receipt for work in ours if work.receipt not in handled.seconds]
        if unreached:
            await tx.withdraw(unreached)


def _results(works: Sequence[Work], found: dict[ReceiptKey, Receipt | None], handled: Handled) -> dict[Work, Result]:
    results: dict[Work, Result] = {}
    for work in works:
        receipt = found[work.receipt]
        if receipt is not None:
            done = receipt.outcome is Outcome.DONE
            results[work] = Done(ran=False) if done else Buried(receipt.result or b"{}")
        elif work.receipt in handled.seconds:
            results[work] = Done(handled.seconds[work.receipt])
    return results


def _encoded(result: Any) -> bytes:
    try:
        encoded = msgspec.json.encode(result)
    except Exception as error:  # RecursionError, or whatever a value's own class raises
        raise HandlerRaisedError(
            UserError(f"the handler's return value must be JSON or None: {text_of(error)}")
        ) from error
    if what := excess(encoded):
        raise HandlerRaisedError(UserError(f"the handler's return value {what}; return ids"))
    if len(encoded) > RESULT_BYTES_AT_MOST:
        raise HandlerRaisedError(
            UserError(f"the handler's return value is over {RESULT_BYTES_AT_MOST} bytes; return ids")
        )
    return encoded
