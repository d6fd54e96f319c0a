"""The receipt-first transaction: receipt -> handle -> stage -> commit, for one handler and one or many events.

The receipt's unique key is the fence. Nothing here depends on a clock, a lease or a heartbeat: a zombie and its
successor meet at the INSERT of the receipt, and the second finds what the first committed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from landfast.domain.errors import LedgerUnavailableError, UserError
from landfast.domain.ids import NO_INBOX, InboxId
from landfast.domain.outcome import Outcome, Receipt, ReceiptKey
from landfast.domain.response import kept_result
from landfast.ports.clock import Clock
from landfast.ports.ledger import LedgerTransaction, ReceiptStore, Scope
from landfast.processing import calls
from landfast.processing.fairness.pace import GROUP_SECONDS_AT_MOST
from landfast.processing.handled import Handled, arrivals_of, results_of
from landfast.processing.handlers.error_text import name_of, text_of
from landfast.processing.handlers.registry import Handler, Registry
from landfast.processing.handlers.stage import Stage
from landfast.processing.handlers.threads import Threads
from landfast.processing.handlers.transaction import lend
from landfast.processing.handlers.writes import WriteFailedError, Writes
from landfast.processing.invoke import HandlerRaisedError, Watch
from landfast.processing.lane_rules import LaneRules
from landfast.processing.trip import Caller, OnTheLoop, OverranError, in_one_trip
from landfast.processing.work import Result, Work

T = TypeVar("T")


class StumbledError(Exception):
    """The handler raised at one event of the group; the whole transaction was rolled back."""

    def __init__(self, work: Work, error: BaseException, seconds: float) -> None:
        super().__init__(name_of(error))
        self.work = work
        self.error = error
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class Transactor:
    ledger: ReceiptStore
    registry: Registry
    clock: Clock
    threads: Threads
    watch: Watch
    staged: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when there are effects to perform."""
    answered: Callable[[], None] = lambda: None
    """Called when callers may find their answers."""
    inbox: InboxId = NO_INBOX

    async def transact(self, handler: Handler, works: Sequence[Work], *, is_apart: bool = False) -> dict[Work, Result]:
        """What came of each event that was reached. Those that are not in the answer left no trace: run them again.
        ApartError asks for the same once more, with `is_apart`: each event's writes are sent before the next event.

        Crash before the COMMIT: no receipt, no writes, the next claim starts afresh. After it: the next claim finds the
        receipts and only settles.
        """
        writes = Writes(is_apart=is_apart or handler.has_rules)
        tx = await self.ledger.begin(deadline=handler.deadline, isolation=handler.isolation)
        found, handled = await self._in_its_place(
            tx, lambda tx, caller: self._all_of_it(tx, works, writes, caller), handler.deadline
        )
        if handled.has_committed:
            ours = [work for work in works if found[work.receipt] is None]
            if handled.effects or any(work.arrival for work in ours):
                self.staged.set()
            if handler.answers:
                self.answered()
        return results_of(works, found, handled)

    async def _all_of_it(
        self, tx: LedgerTransaction, works: Sequence[Work], writes: Writes, caller: Caller
    ) -> tuple[dict[ReceiptKey, Receipt | None], Handled]:
        """On the loop, or in the thread of the transaction."""
        try:
            found = await self._reserve(tx, works)
            ours = [work for work in works if found[work.receipt] is None]
            rules = LaneRules(self.clock.now())
            await rules.lock(tx, ours)
            handled = await self._handle(tx, ours, rules, writes, caller)
            if handled.is_nothing and len(ours) == len(works):  # receipts that were found are younger now
                await tx.rollback()
                return found, handled
            with _lost_after(handled, ours):
                await self._withdraw(tx, ours, handled, rules)
                await rules.write(tx)
                caller.check()
                await tx.commit(results=handled.results, effects=handled.effects, arrivals=arrivals_of(ours, handled))
        except BaseException:
            await tx.rollback()
            raise
        handled.has_committed = True
        return found, handled

    async def _in_its_place(
        self,
        tx: LedgerTransaction,
        work: Callable[[LedgerTransaction, Caller], Coroutine[Any, Any, T]],
        deadline: float,
    ) -> T:
        if tx.lane is None:
            return await work(tx, OnTheLoop(self.threads, self.watch))
        try:
            return await in_one_trip(tx, work, tx.lane, deadline=deadline, threads=self.threads, hung=self.watch.hung)
        except OverranError as overran:
            raise StumbledError(overran.work, overran.error, overran.work.handler.deadline) from overran.error

    async def rehearse(self, work: Work, *, first: Work, last: Work) -> Handled | Outcome:
        """As `transact`, of one event, but all of it is rolled back: what was asked for, or what the receipt says that
        is there already. `first` and `last` run around it, in the same transaction."""
        # What an operator asks for is what the handler would do: its rules for its lane have no say in that.
        plain = [replace(each, newest=None, step=None) for each in (first, work, last)]
        tx = await self.ledger.begin(deadline=work.handler.deadline, isolation=work.handler.isolation)
        shortest = min(each.handler.deadline for each in plain)
        return await self._in_its_place(tx, lambda tx, caller: self._rehearsed(tx, plain, caller), shortest)

    async def _rehearsed(self, tx: LedgerTransaction, plain: Sequence[Work], caller: Caller) -> Handled | Outcome:
        try:
            receipt = (await self._reserve(tx, plain[1:2]))[plain[1].receipt]
            if receipt is not None:
                return receipt.outcome
            rules = LaneRules(self.clock.now())
            await rules.lock(tx, plain[1:2])
            parts = [await self._handle(tx, [each], rules, Writes(is_apart=True), caller) for each in plain]
            await tx.check()
        finally:
            await tx.rollback()
        results = [result for part in parts for result in part.results]
        return Handled(parts[1].seconds, results, parts[1].effects, rules.late, parts[1].unused)

    async def _reserve(self, tx: LedgerTransaction, works: Sequence[Work]) -> dict[ReceiptKey, Receipt | None]:
        keys = [work.receipt for work in works]
        forced = frozenset(work.receipt for work in works if work.claim.forced)
        return dict(zip(keys, await tx.reserve(keys, forced=forced), strict=True))

    async def _handle(
        self, tx: LedgerTransaction, works: Sequence[Work], rules: LaneRules, writes: Writes, caller: Caller
    ) -> Handled:
        handled, spent, waiting = Handled(late=rules.late), 0.0, deque(works)
        while waiting:
            work = waiting.popleft()
            if (verdict := rules.verdict(work)) is not None:
                handled.set_aside(work, verdict)
                continue
            with _lost_after(handled, works):
                scope = await tx.scope()
            started = self.clock.monotonic()
            writes.owner, writes.is_last = work, not waiting or spent > GROUP_SECONDS_AT_MOST
            caller.begins(work)
            try:
                await self._run(tx, scope, work, handled, writes, rules.state(work), caller)
            except HandlerRaisedError as raised:
                raise StumbledError(work, raised.error, self.clock.monotonic() - started) from raised.error
            except WriteFailedError as failed:
                raise StumbledError(failed.owner, failed.error, self.clock.monotonic() - started) from failed.error
            finally:
                caller.ended()
            handled.seconds[work.receipt] = self.clock.monotonic() - started
            if (moved := rules.ran(work)) is not None:
                handled.moved.add(work.receipt)
                waiting.extend(handled.let_out(moved))
            spent += handled.seconds[work.receipt]
            if spent > GROUP_SECONDS_AT_MOST and not writes.is_waiting:
                break
        writes.check_sent()
        return handled

    async def _run(
        self,
        tx: LedgerTransaction,
        scope: Scope,
        work: Work,
        handled: Handled,
        writes: Writes,
        state: str | None,
        caller: Caller,
    ) -> None:
        handler = work.handler
        event = replace(work.event, late=True) if work.receipt in handled.late else work.event
        stage = self._stage(work)
        lent = lend(scope, stage, writes, state=state, is_async=handler.is_async, is_in_lane=tx.lane is not None)
        try:
            function = calls.traced(work, calls.of(handler, event, lent))
            result = await caller.call(handler, function, scope, lent.conclude)
        except HandlerRaisedError:
            writes.check(has_raised=True)  # what has failed may be the write of an event before it
            raise
        writes.check()
        if handler.writes and not (scope.used or lent.has_written or stage.staged):
            handled.unused.add(work.receipt)
        handled.note(work.receipt, lent, stage, _answer(result, work) if handler.answers else result)

    def _stage(self, work: Work) -> Stage:
        event = work.event
        about = {"id": event.id, "source": event.source, "key": event.key, "type": event.type}
        return Stage(self.registry, work.receipt, about, self.clock.now, self.inbox)

    async def _withdraw(self, tx: LedgerTransaction, ours: Sequence[Work], handled: Handled, rules: LaneRules) -> None:
        unreached = [work.receipt for work in ours if not handled.has_reached(work)]
        if unreached:
            await tx.withdraw(unreached, reached=rules.reached)


@contextmanager
def _lost_after(handled: Handled, works: Sequence[Work]) -> Iterator[None]:
    """Around statements of Landfast's own. What fails there after a handler may be its doing, and it need not have
    noticed: it closed its connection, or made its transaction read-only. So the last one that ran stumbles."""
    try:
        yield
    except LedgerUnavailableError as error:
        ran = [work for work in works if work.receipt in handled.seconds]
        if not ran:
            raise
        raise StumbledError(ran[-1], error, handled.seconds[ran[-1].receipt]) from error


def _answer(result: Any, work: Work) -> Any:
    """Of an endpoint: with the fingerprint of the body that it answers, in the same COMMIT as everything else."""
    try:
        return kept_result(result, work.event.body)
    except Exception as error:  # UserError, or whatever a value's own class raises
        raise HandlerRaisedError(UserError(f"the endpoint's answer cannot be stored: {text_of(error)}")) from error
