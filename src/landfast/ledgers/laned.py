"""A transaction that lives in a lane, as the loop sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ClaimedEffect, StagedEffect
from landfast.domain.errors import CommitUnknownError
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import limits
from landfast.ledgers.driven import Alarm, Driven
from landfast.ledgers.lane import Lane, Lanes
from landfast.ports.ledger import DrivenTransaction, LedgerTransaction, Scope, Transaction
from landfast.thread_calls import Call, finish

T = TypeVar("T")


class LanedTransaction:
    """A LedgerTransaction around one whose coroutines block and never suspend. Each call is one trip to the thread;
    `drive` is one for all of it, and what a worker does.

    `hang_up` is called on the loop when a handler still runs at the rollback, or when nobody answers: it cuts the
    connection, so that the database frees the receipt at once, and the handler fails at its next statement. `begin`
    runs in the thread before anything else does. `gone` is called on the loop once all of it is over."""

    def __init__(
        self,
        inner: LedgerTransaction,
        lane: Lane,
        lanes: Lanes,
        *,
        hang_up: Callable[[], None],
        begin: Callable[[], Coroutine[Any, Any, None]] | None = None,
        gone: Callable[[], None] = lambda: None,
    ) -> None:
        self._inner = inner
        self._lane = lane
        self._lanes = lanes
        self._hang_up = hang_up
        self._begin = begin
        self._gone = gone
        self._rolling_back: asyncio.Task[None] | None = None
        self._alarm: Alarm | None = None
        self._is_over = False

    @property
    def lane(self) -> LanedTransaction:
        return self

    def start(self, function: Callable[[], Any], *, is_async: bool) -> Call:
        return self._lane.start(function, is_async=is_async)

    def drive(self, work: Callable[[DrivenTransaction], Coroutine[Any, Any, Any]]) -> Call:
        driven = self._driven()
        self._alarm = Alarm(driven, self._hang_up)
        return self._lane.start(lambda: finish(work(driven)))

    async def leave(self) -> None:
        self._let_go()

    async def scope(self) -> Scope:
        return _LanedScope(await self._go(self._inner.scope), self._lane)

    async def reserve(
        self, keys: Sequence[ReceiptKey], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt | None]:
        return await self._go(lambda: self._inner.reserve(keys, forced=forced))

    async def mark(self, marks: Sequence[LaneMark]) -> Sequence[LanePlace | None]:
        return await self._go(lambda: self._inner.mark(marks))

    async def lock_states(self, keys: Sequence[StateKey]) -> Sequence[str | None]:
        return await self._go(lambda: self._inner.lock_states(keys))

    async def move_states(self, states: Sequence[LaneState]) -> None:
        await self._go(lambda: self._inner.move_states(states))

    async def withdraw(self, keys: Sequence[ReceiptKey], *, reached: Sequence[LaneMark] = ()) -> None:
        await self._go(lambda: self._inner.withdraw(keys, reached=reached))

    async def holds(self, effect: ClaimedEffect) -> bool:
        return await self._go(lambda: self._inner.holds(effect))

    async def check(self) -> None:
        await self._go(self._inner.check)

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        try:
            await self._go(lambda: self._inner.commit(results=results, effects=effects, arrivals=arrivals))
        except asyncio.CancelledError as error:
            # The thread goes on with it: whether it committed is not known here.
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error
        self._let_go()

    async def rollback(self) -> None:
        if self._is_over:
            return
        is_left_running = self._lane.has_handler
        self._silence_alarm()
        if self._rolling_back is None:
            self._rolling_back = asyncio.create_task(self._roll_back())  # first: no place is lost with a cut that fails
            if is_left_running:
                self._hang_up()
        if not is_left_running:
            await asyncio.shield(self._rolling_back)

    async def _go(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A statement of Landfast's own inside of the transaction."""

        async def all_of_it() -> T:
            await self._begin_once()
            return await work()

        return await self._own(all_of_it)

    async def _begin_once(self) -> None:
        """In the thread."""
        if self._begin is None:
            return
        begin, self._begin = self._begin, None  # first, because it may send its statements the same way
        try:
            await begin()
        except BaseException:
            self._begin = begin
            raise

    def _driven(self) -> Driven:
        return Driven(self._inner, self, self._begin_once)

    async def _own(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Statements of Landfast's own. A thread that waits for an answer cannot be cancelled, and a network that
        swallows packets never gives one: after a while we hang up."""
        alarm = asyncio.get_running_loop().call_later(limits.ANSWER_WAIT, self._hang_up)
        try:
            return await self._lane.run(work)
        finally:
            alarm.cancel()

    async def _roll_back(self) -> None:
        try:
            await self._own(self._inner.rollback)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        self._silence_alarm()
        if not self._is_over:
            self._is_over = True
            self._lanes.give_back(self._lane)
            self._gone()

    def _silence_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None


class _LanedScope:
    """A Scope whose end runs in the lane."""

    def __init__(self, inner: Scope, lane: Lane) -> None:
        self._inner = inner
        self._lane = lane

    @property
    def handle(self) -> Transaction:
        return self._inner.handle

    @property
    def used(self) -> bool:
        return self._inner.used

    def given(self, kind: str) -> Any:
        return self._inner.given(kind)

    def before_others(self, sending: Callable[[], Coroutine[Any, Any, None] | None]) -> bool:
        return self._inner.before_others(sending)

    closes_at_once = False

    async def close(self) -> None:
        await self._lane.run(self._inner.close)
