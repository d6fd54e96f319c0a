"""Run many events of one handler in as few transactions as are safe, and never let one hurt its neighbours."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from landfast import telemetry
from landfast.domain.errors import (
    CommitRefusedError,
    CommitUnknownError,
    HandlerEndedTransactionError,
    LedgerUnavailableError,
    ReceiptBusyError,
    StoreError,
    SwallowedDatabaseError,
)
from landfast.domain.fault import Fault
from landfast.domain.outcome import ReceiptKey
from landfast.ports.ledger import Ledger
from landfast.processing.conclude import RECALLED
from landfast.processing.error_text import line_of, logged, name_of
from landfast.processing.invoke import RecalledError
from landfast.processing.outages import Outages
from landfast.processing.pace import Pace
from landfast.processing.registry import Handler
from landfast.processing.shares import Hold
from landfast.processing.switches import Pauses
from landfast.processing.transact import StumbledError, Transactor
from landfast.processing.work import Deferred, Failed, Result, Work

CONFLICTS_AT_MOST = 8
"""Serialization failures in a row before the event waits a moment; after a few such waits one counts as an attempt, so
that even a hopeless event ends."""

BLAME = (CommitRefusedError, SwallowedDatabaseError, HandlerEndedTransactionError)
"""Errors of the whole transaction: in a group they say that somebody is at fault, but not who."""


@dataclass(slots=True)
class Excuses:
    """How often an event was put off for what may be bad luck: a backend was killed although the ledger is well, or the
    same rows are fought over. After a few times it is the handler's own doing, and counts as an attempt."""

    at_most: int = 3
    remembered: int = 1_000
    _given: OrderedDict[ReceiptKey, int] = field(default_factory=OrderedDict)

    def excuse(self, receipt: ReceiptKey) -> bool:
        self._given[receipt] = self._given.pop(receipt, 0) + 1
        if len(self._given) > self.remembered:
            self._given.popitem(last=False)
        return self._given[receipt] <= self.at_most


@dataclass(slots=True)
class Grouping:
    transactor: Transactor
    ledger: Ledger
    is_stopping: Callable[[], bool]
    outages: Outages
    pauses: Pauses = field(default_factory=Pauses)
    excuses: Excuses = field(default_factory=Excuses)

    async def run(self, handler: Handler, works: Sequence[Work], hold: Hold, pace: Pace) -> None:
        """Note what came of each event, every one of them that is not let go of meanwhile."""
        waiting = deque([sorted(works, key=lambda work: work.order)])
        conflicts = 0
        halted: Result | None = None
        while waiting:
            batch = [work for work in waiting.popleft() if not hold.is_let_go(work)]
            halted = halted or self._halts(handler)
            if halted is not None or not batch:
                hold.note(dict.fromkeys(batch, halted) if halted else {})
                continue
            group, rest = _cut(batch, handler, pace)
            if rest:
                waiting.appendleft(rest)
            hold.runs(handler, group)
            settled, again, conflicted = await self._attempt(handler, group, pace, conflicts)
            conflicts = conflicts + 1 if conflicted else 0
            hold.note(self.outages.learn(handler.name, settled))
            hold.runs_nothing()
            waiting.extendleft(reversed(again))
            # The rest could only fail the same way, and each failure would count as an attempt.
            halted = next(filter(_is_outage, settled.values()), None) or self.outages.refusal(handler.name)

    def _halts(self, handler: Handler) -> Result | None:
        """What those come to that have not started yet, where no more may start."""
        if self.is_stopping():
            return Deferred("stopping", 0.0)
        return self.pauses.of(handler)

    async def _attempt(
        self, handler: Handler, group: list[Work], pace: Pace, conflicts: int
    ) -> tuple[dict[Work, Result], list[list[Work]], bool]:
        """What is decided, what must run again in which groups, and whether a conflict is the reason."""
        try:
            reached = await self.transactor.transact(handler, group)
        except StumbledError as stumble:
            if type(stumble.error) is RecalledError:  # its type, because a class of the user's may lie about its own
                halted = self.pauses.of(handler) or Deferred(RECALLED, 0.0)
                return dict.fromkeys(group, halted), [], False
            return await self._stumbled(group, stumble, pace, conflicts)
        except BLAME as error:
            cause = error.__cause__ if isinstance(error, CommitRefusedError) and error.__cause__ else error
            fault = self._fault(cause)
            return self._at_fault(group, Failed(cause, fault), pace, conflicts)
        except ReceiptBusyError as error:
            return self._at_fault(group, Deferred("receipt_busy", 1.0, str(error)), pace, conflicts)
        except CommitUnknownError as error:
            if isinstance(error.__cause__, asyncio.CancelledError):
                raise error.__cause__ from error  # the worker's own: no handler runs in this task
            # It may have happened. The next claim looks at the receipts.
            return dict.fromkeys(group, Deferred("commit_unknown", 0.5, str(error))), [], False
        except LedgerUnavailableError as error:
            return dict.fromkeys(group, Deferred("infrastructure", 1.0, str(error))), [], False
        except Exception as error:  # noqa: BLE001 - one event that we did not foresee must not cost its neighbours theirs
            fault = self._fault(error)
            if fault is not Fault.CONFLICT:  # at the receipt itself, under SERIALIZABLE
                telemetry.error("unexpected", handler=handler.name, error=logged(error), trace=error)
            return self._at_fault(group, Failed(error, fault), pace, conflicts)
        unreached = [work for work in group if work not in reached]
        return reached, [unreached] if unreached else [], False

    async def _stumbled(
        self, group: list[Work], stumble: StumbledError, pace: Pace, conflicts: int
    ) -> tuple[dict[Work, Result], list[list[Work]], bool]:
        fault = self._fault(stumble.error)
        failed = Failed(stumble.error, fault, stumble.seconds)
        if fault is Fault.INFRASTRUCTURE:
            message = line_of(stumble.error)
            if not await self._ledger_answers():
                return dict.fromkeys(group, Deferred("infrastructure", 1.0, message)), [], False
            if len(group) == 1 and self.excuses.excuse(stumble.work.receipt):
                return {group[0]: Deferred("connection_lost", 1.0, message)}, [], False
            failed = Failed(stumble.error, Fault.OTHER, stumble.seconds)
        if len(group) == 1 or fault is Fault.CONFLICT:
            return self._at_fault(group, failed, pace, conflicts)
        # Those before it as a group, itself alone, then the rest: nobody pays for a neighbour.
        pace.stumbled()
        at = group.index(stumble.work)
        return {}, [part for part in (group[:at], [group[at]], group[at + 1 :]) if part], False

    def _fault(self, error: BaseException) -> Fault:
        try:
            return self.ledger.diagnose(error)
        except BaseException as unexpected:  # noqa: BLE001 - to diagnose an error is to read it, and its class is the user's
            telemetry.error("not_diagnosed", cause=name_of(error), error=logged(unexpected))
            return Fault.OTHER

    async def _ledger_answers(self) -> bool:
        """Whether it was the ledger that failed, or the handler that broke its own connection."""
        try:
            tx = await self.ledger.begin(deadline=1.0)
            try:
                await tx.receive([])
            finally:
                await tx.rollback()
        except StoreError:
            return False
        return True

    def _at_fault(
        self, group: list[Work], result: Failed | Deferred, pace: Pace, conflicts: int
    ) -> tuple[dict[Work, Result], list[list[Work]], bool]:
        conflicted = isinstance(result, Failed) and result.fault is Fault.CONFLICT
        if len(group) > 1:
            pace.stumbled()
            return {}, [[work] for work in group], conflicted
        if conflicted and conflicts < CONFLICTS_AT_MOST:
            return {}, [group], True
        if conflicted and self.excuses.excuse(group[0].receipt):
            return {group[0]: Deferred("conflicts", 0.5, "too many concurrent updates of the same rows")}, [], False
        return {group[0]: result}, [], False


def _cut(batch: list[Work], handler: Handler, pace: Pace) -> tuple[list[Work], list[Work]]:
    size = pace.size if handler.group else 1
    return batch[:size], batch[size:]


def _is_outage(result: Result) -> bool:
    return isinstance(result, Deferred) and result.why == "infrastructure"
