"""A transaction that a thread has from BEGIN to COMMIT in one go, and the loop's look at whether it is answered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from landfast.domain.arrival import Arrived
from landfast.domain.effect import ClaimedEffect, StagedEffect
from landfast.domain.lane import LanePlace
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import limits
from landfast.ports.ledger import Lane, LedgerTransaction, Scope

T = TypeVar("T")

Work = Callable[[], Coroutine[Any, Any, T]]


class Driven:
    """A DrivenTransaction around one whose coroutines block. It notes since when the server owes an answer."""

    def __init__(self, inner: LedgerTransaction, lane: Lane, begin: Work[None]) -> None:
        self._inner = inner
        self._begin: Work[None] | None = begin
        self.lane = lane
        self.asked_at: float | None = None
        """When the statements of Landfast's own began that are under way."""

    def call(self, function: Callable[[], Any], *, is_async: bool) -> Any:
        if is_async:
            raise TypeError("this lane runs no coroutine functions")
        return function()

    async def scope(self) -> Scope:
        return await self._go(self._inner.scope)

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
        await self._go(lambda: self._inner.commit(results=results, effects=effects, arrivals=arrivals))

    async def rollback(self) -> None:
        await self._ask(self._inner.rollback)

    async def _go(self, work: Work[T]) -> T:
        if self._begin is not None:
            await self._ask(self._begin)
            self._begin = None
        return await self._ask(work)

    async def _ask(self, work: Work[T]) -> T:
        self.asked_at = time.monotonic()
        try:
            return await work()
        finally:
            self.asked_at = None


class Alarm:
    """On the loop. A thread that waits for an answer cannot be cancelled, and a network that swallows packets never
    gives one: after a while we hang up. One timer for the whole trip, because most are over long before it rings."""

    def __init__(self, driven: Driven, hang_up: Callable[[], None]) -> None:
        self._driven = driven
        self._hang_up = hang_up
        self._set(limits.ANSWER_WAIT)

    def cancel(self) -> None:
        self._timer.cancel()

    def _set(self, seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        asked_at = self._driven.asked_at
        waited = 0.0 if asked_at is None else time.monotonic() - asked_at
        if waited >= limits.ANSWER_WAIT:
            self._hang_up()
        # The next statement of the same trip may not be answered either.
        self._set(limits.ANSWER_WAIT - waited if waited < limits.ANSWER_WAIT else limits.ANSWER_WAIT)
