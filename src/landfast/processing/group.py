"""Run many events of one handler in as few transactions as are safe, and never let one hurt its neighbours."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from landfast import telemetry
from landfast.domain.errors import (
    CommitRefusedError,
    CommitUnknownError,
    HandlerEndedTransactionError,
    LedgerUnavailableError,
    OwnConnectionError,
    ReceiptBusyError,
    StoreError,
    SwallowedDatabaseError,
)
from landfast.domain.fault import Fault
from landfast.domain.lane import Lane
from landfast.domain.outcome import ReceiptKey
from landfast.ports.clock import Clock
from landfast.ports.ledger import ReceiptStore
from landfast.processing.control.breakers import Turn
from landfast.processing.control.dependencies import Dependencies
from landfast.processing.control.switches import Pauses
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.shares import Hold, Shares
from landfast.processing.handlers.error_text import line_of, logged, name_of
from landfast.processing.handlers.registry import Handler
from landfast.processing.handlers.writes import ApartError
from landfast.processing.invoke import RecalledError
from landfast.processing.settlements import RECALLED
from landfast.processing.transact import StumbledError, Transactor
from landfast.processing.work import BEHIND, Deferred, Failed, Paused, Result, Work

CONFLICTS_AT_MOST = 8
"""Serialization failures in a row before the event waits a moment; after a few such waits one counts as an attempt, so
that even a hopeless event ends."""

LIMIT_LOOK_SECONDS = 1.0
"""One handler of an event has run, and another was at its limit: so long until the other is tried again."""

EXCUSED_SECONDS = 3600.0
"""For which an excuse is remembered, at least."""

BLAME = (CommitRefusedError, SwallowedDatabaseError, HandlerEndedTransactionError)
"""Errors of the whole transaction: in a group they say that somebody is at fault, but not who."""


@dataclass(slots=True)
class Excuses:
    """How often an event was put off for what may be bad luck: a backend was killed although the ledger is well, or the
    same rows are fought over. After a few times it is the handler's own doing, and counts as an attempt.

    Without it, 9 of 120 events that fought over one row were dead after three attempts; with it, none. Of 60 events
    with a single attempt whose connection was cut once, all were dead; with it, 5.

    More than it remembers within an hour is no bad luck: a handler that always loses its connection, and has a long
    backlog, would otherwise have each event forgotten before it comes again, and run for ever."""

    clock: Clock
    at_most: int = 3
    remembered: int = 20_000
    _given: OrderedDict[ReceiptKey, tuple[int, float]] = field(default_factory=OrderedDict)
    """How often, and when the last time; those of whom that is the longest ago first."""

    def excuse(self, receipt: ReceiptKey) -> bool:
        now = self.clock.monotonic()
        given, _ = self._given.pop(receipt, (0, now))
        if len(self._given) >= self.remembered:
            if now - next(iter(self._given.values()))[1] < EXCUSED_SECONDS:
                return False
            self._given.popitem(last=False)
        self._given[receipt] = given + 1, now
        return given < self.at_most


@dataclass(frozen=True, slots=True)
class Attempted:
    """What one transaction of a group came to."""

    decided: Mapping[Work, Result]
    again: Sequence[list[Work]] = ()
    """What must run again, in which groups."""
    conflicted: bool = False
    """The reason is a conflict with another transaction."""


@dataclass(slots=True)
class Grouping:
    transactor: Transactor
    ledger: ReceiptStore
    is_stopping: Callable[[], bool]
    dependencies: Dependencies
    pauses: Pauses = field(default_factory=Pauses)
    shares: Shares = field(default_factory=Shares)
    excuses: Excuses = field(init=False)

    def __post_init__(self) -> None:
        self.excuses = Excuses(self.transactor.clock)

    async def run(self, works: Sequence[Work], hold: Hold, pace: Pace) -> None:
        """Note what comes of each event of one handler, except of those that are let go of meanwhile."""
        handler, conflicts, admitted = works[0].handler, 0, set[Work]()
        waiting = deque([sorted(works, key=lambda work: work.order)])
        while batch := _next(waiting, hold):
            with self._turn(handler, hold) as turn:
                if not isinstance(turn, Turn):
                    hold.note_all([*batch, *chain(*waiting)], turn)
                    return
                must_ask = turn is Turn.ALL and handler.uses and batch[0] not in admitted
                if must_ask and (late := await self._admit(handler, batch, pace.size, admitted)):
                    hold.note(late)  # their lanes stop, and `_next` drops what is behind them
                    waiting.appendleft([work for work in batch if work not in late])
                    continue
                size = pace.size if turn is Turn.ALL and handler.may_group else 1
                group, rest = batch[:size], batch[size:]
                hold.runs(handler, group)
                attempted = await self._attempt(handler, group, pace, conflicts)
                hold.note(self.dependencies.learn(handler, attempted.decided))
                hold.runs_nothing()
            conflicts = conflicts + 1 if attempted.conflicted else 0
            waiting.extendleft([rest, *reversed(attempted.again)])
            if outage := next(filter(_is_outage, attempted.decided.values()), None):
                # The rest could only fail the same way.
                hold.note_all([*chain(*waiting)], outage)
                return

    @contextmanager
    def _turn(self, handler: Handler, hold: Hold) -> Iterator[Turn | Deferred | Paused]:
        """How many of its events may start, or what they come to if none may."""
        if not self.shares.admit(hold, handler):
            yield Deferred("at_its_limit", LIMIT_LOOK_SECONDS)
        elif self.is_stopping():
            yield Deferred("stopping", 0.0)
        elif paused := self.pauses.of(handler):
            yield paused
        else:
            with self.dependencies.turn_of(handler) as turn:
                yield turn

    async def _admit(
        self, handler: Handler, batch: list[Work], count: int, admitted: set[Work]
    ) -> Mapping[Work, Deferred]:
        """Ask whether so many may begin, at the rate of what the handler uses. If not all of them may: when the others
        come back, and those behind them.

        Of a lane only the first asks. Those after it may not come to run in this claim, and a place in the queue that
        nobody comes back for holds up everybody who asks later."""
        fronts = [work for work in _fronts(batch) if work not in admitted]
        asking = min(count, len(fronts))
        passage = await self.dependencies.admit(handler.uses, wanted=asking, behind=len(fronts) - asking)
        admitted.update(fronts[: passage.granted])
        if not passage.waits:
            return {}
        late = zip(fronts[passage.granted :], passage.waits, strict=True)
        return {work: Deferred("rate", wait) for work, wait in late}

    async def _attempt(self, handler: Handler, group: list[Work], pace: Pace, conflicts: int) -> Attempted:
        """One transaction, and what its error means."""
        try:
            reached = await self._transact(handler, group)
        except StumbledError as stumble:
            if type(stumble.error) is RecalledError:  # its type, because a class of the user's may lie about its own
                halted = self.pauses.of(handler) or Deferred(RECALLED, 0.0)
                return Attempted(dict.fromkeys(group, halted))
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
            return await self._unknown(group, error, pace, conflicts)
        except LedgerUnavailableError as error:
            return Attempted(dict.fromkeys(group, Deferred("infrastructure", 1.0, str(error))))
        except Exception as error:  # noqa: BLE001 - one event that we did not foresee must not cost its neighbours theirs
            fault = self._fault(error)
            if fault is not Fault.CONFLICT:  # at the receipt itself, under SERIALIZABLE
                telemetry.error("unexpected", handler=handler.name, error=logged(error), trace=error)
            return self._at_fault(group, Failed(error, fault), pace, conflicts)
        unreached = [work for work in group if work not in reached]
        return Attempted(reached, [unreached] if unreached else ())

    async def _unknown(self, group: list[Work], error: CommitUnknownError, pace: Pace, conflicts: int) -> Attempted:
        """It may have happened: the next run looks at the receipts. One that could reserve them again knows that it had
        not, so where there is never an answer although the ledger is well, it is the handler that loses its connection.
        """
        deferred = Deferred("commit_unknown", 0.5, str(error))
        if not await self._ledger_answers():
            return Attempted(dict.fromkeys(group, deferred))
        if len(group) == 1 and not self.excuses.excuse(group[0].receipt):
            return Attempted({group[0]: Failed(error, Fault.OTHER)})
        return self._at_fault(group, deferred, pace, conflicts)

    async def _transact(self, handler: Handler, group: list[Work]) -> Mapping[Work, Result]:
        try:
            return await self.transactor.transact(handler, group)
        except ApartError:
            # Nothing of it is left. With each event's writes sent by themselves, what fails has its event.
            return await self.transactor.transact(handler, group, is_apart=True)

    async def _stumbled(self, group: list[Work], stumble: StumbledError, pace: Pace, conflicts: int) -> Attempted:
        fault = self._fault(stumble.error)
        failed = Failed(stumble.error, fault, stumble.seconds)
        if fault is Fault.OWN_CONNECTION:
            # Its neighbours would wait as long for the same: they look at the breaker that this one opens.
            waits = Failed(_own_connection(stumble.error), fault, stumble.seconds)
            others = [work for work in group if work is not stumble.work]
            return Attempted({stumble.work: waits}, [others] if others else ())
        if fault is Fault.INFRASTRUCTURE:
            message = line_of(stumble.error)
            if not await self._ledger_answers():
                return Attempted(dict.fromkeys(group, Deferred("infrastructure", 1.0, message)))
            if len(group) == 1 and self.excuses.excuse(stumble.work.receipt):
                return Attempted({group[0]: Deferred("connection_lost", 1.0, message)})
            failed = Failed(stumble.error, Fault.OTHER, stumble.seconds)
        if len(group) == 1 or fault is Fault.CONFLICT:
            return self._at_fault(group, failed, pace, conflicts)
        # Those before it as a group, itself alone, then the rest: nobody pays for a neighbour.
        pace.stumbled()
        at = group.index(stumble.work)
        return Attempted({}, [part for part in (group[:at], [group[at]], group[at + 1 :]) if part])

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
                await tx.reserve([])
            finally:
                await tx.rollback()
        except StoreError:
            return False
        return True

    def _at_fault(self, group: list[Work], result: Failed | Deferred, pace: Pace, conflicts: int) -> Attempted:
        conflicted = isinstance(result, Failed) and result.fault is Fault.CONFLICT
        if len(group) > 1:
            pace.stumbled()
            return Attempted({}, [[work] for work in group], conflicted)
        if conflicted and conflicts < CONFLICTS_AT_MOST:
            return Attempted({}, [group], conflicted=True)
        if conflicted and self.excuses.excuse(group[0].receipt):
            return Attempted({group[0]: Deferred("conflicts", 0.5, "too many concurrent updates of the same rows")})
        return Attempted({group[0]: result})


def _next(waiting: deque[list[Work]], hold: Hold) -> list[Work]:
    """The next batch without what was let go of meanwhile, and what waits for its lane; empty when nothing waits any
    more."""
    while waiting:
        left = [work for work in waiting.popleft() if not hold.is_let_go(work)]
        dropped = [work for work in left if hold.walk.drops(work)]
        hold.note_all(dropped, BEHIND)
        if batch := [work for work in left if work not in dropped] if dropped else left:
            return batch
    return []


def _fronts(batch: Sequence[Work]) -> list[Work]:
    """Those that nothing in the batch is before in its lane: all of them, where the handler is not ordered."""
    fronts: dict[Lane | Work, Work] = {}
    for work in batch:
        fronts.setdefault((work.claim.lane if work.handler.ordered else None) or work, work)
    return list(fronts.values())


def _own_connection(error: BaseException) -> OwnConnectionError:
    """With the place where the handler was, and the database's own words below it."""
    told = OwnConnectionError()
    told.__cause__ = error
    attribute: Any = BaseException.__traceback__  # past whatever the class put in place of it
    return told.with_traceback(attribute.__get__(error))


def _is_outage(result: Result) -> bool:
    return isinstance(result, Deferred) and result.why == "infrastructure"
