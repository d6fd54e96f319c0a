"""One trip to the lane for each event. A trip takes about as long as a statement, and a group has fifty events."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from landfast.ledgers.lane import Lane, Lanes
from landfast.ledgers.laned import LanedTransaction
from landfast.ports.ledger import LedgerTransaction, Scope, Transaction
from landfast.thread_calls import Call, finish, followed_by


class OneTripTransaction(LanedTransaction):
    """When the handler has returned, its scope is closed and the next one is made before the thread is left. What that
    raises is the handler's own error, as it is for any scope."""

    def __init__(self, inner: LedgerTransaction, lane: Lane, lanes: Lanes, **how: Any) -> None:
        super().__init__(inner, lane, lanes, **how)
        self._current: _ClosedInItsTrip | None = None
        self._next: Scope | None = None

    async def begin(self) -> None:
        await self._own(self._begin_once)

    def start(self, function: Callable[[], Any], *, is_async: bool) -> Call:
        return self._lane.start(followed_by(function, self.conclude), is_async=is_async)

    async def scope(self) -> Scope:
        made, self._next = self._next, None
        if made is None:
            made = await self._go(self._inner.scope)
        self._current = _ClosedInItsTrip(made, self._lane)
        return self._current

    def conclude(self) -> None:
        """In the lane, once the handler has returned."""
        if self._current is not None:
            finish(self._current.inner.close())
            self._current.is_closed = True
            self._next = finish(self._inner.scope())


class _ClosedInItsTrip:
    """A Scope."""

    def __init__(self, inner: Scope, lane: Lane) -> None:
        self.inner = inner
        self.is_closed = False
        self._lane = lane

    @property
    def handle(self) -> Transaction:
        return self.inner.handle

    @property
    def used(self) -> bool:
        return self.inner.used

    def given(self, kind: str) -> Any:
        return self.inner.given(kind)

    def before_others(self, sending: Callable[[], Coroutine[Any, Any, None] | None]) -> bool:
        return self.inner.before_others(sending)

    @property
    def closes_at_once(self) -> bool:
        return self.is_closed

    async def close(self) -> None:
        if not self.is_closed:
            await self._lane.run(self.inner.close)
