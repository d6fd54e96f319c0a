"""A transaction on Django's connection, as the loop sees it, and as its thread does."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from landfast import telemetry
from landfast.domain.arrival import Arrived
from landfast.domain.effect import StagedEffect
from landfast.domain.errors import CommitUnknownError, LedgerUnavailableError, StoreError
from landfast.domain.outcome import Receipt, ReceiptKey
from landfast.ledgers import control, limits
from landfast.ledgers.django.lanes import DjangoLane, DjangoLanes
from landfast.ledgers.driven import Driven
from landfast.ledgers.laned import LanedTransaction
from landfast.ports.ledger import LedgerTransaction, Transaction
from landfast.thread_calls import Call, finish

T = TypeVar("T")

HOOKS_SECONDS = 30.0
"""For the `on_commit` hooks of a transaction, as long as a handler has by default. After it they go on alone."""


class Begins(LedgerTransaction, Protocol):
    """A transaction whose coroutines block and never suspend."""

    async def begin_now(self) -> None: ...

    async def say_begin(self) -> None:
        """If `begin_now` has left it to be said with the receipts."""
        ...

    async def bury(self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey]) -> Sequence[Receipt]: ...


class DjangoTransaction(LanedTransaction):
    """A LedgerTransaction, and the Lane that handlers run in. BEGIN is sent together with what comes first, and what is
    to be done before and after a handler is done on the same trip."""

    def __init__(
        self,
        inner: Begins,
        lane: DjangoLane,
        lanes: DjangoLanes,
        handle: Transaction,
        *,
        gone: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(inner, lane, lanes, hang_up=lane.connection.hang_up, begin=inner.begin_now, gone=gone)
        self._begins = inner
        self._django = lane
        self._handle = handle
        lane.connection.fence.is_over = False

    def start(self, function: Callable[[], Any], *, is_async: bool) -> Call:
        return self._django.start(lambda: self.handled(function, is_async=is_async))

    async def leave(self) -> None:
        """Hooks of the handlers' have a trip of their own, because how long they take is no matter of the COMMIT."""
        try:
            if self._django.connection.has_hooks:
                await self._run_hooks()
        finally:
            self._let_go()

    async def scope(self) -> DjangoScope:
        return DjangoScope(self._handle, self._django)

    async def commit(
        self,
        *,
        results: Sequence[tuple[ReceiptKey, bytes]],
        effects: Sequence[StagedEffect],
        arrivals: Sequence[Arrived] = (),
    ) -> None:
        if self._is_over:
            raise control.ended()
        try:
            work = partial(self._inner.commit, results=results, effects=effects, arrivals=arrivals)
            await self._go(work, silence=CommitUnknownError("ledger: no answer to COMMIT"))
        except asyncio.CancelledError as error:
            # The thread goes on with it: whether it committed is not known here.
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error
        await self.leave()

    async def bury(
        self, tombstones: Sequence[Receipt], *, forced: frozenset[ReceiptKey] = frozenset()
    ) -> Sequence[Receipt]:
        """Of Landfast's own, without a handler."""
        return await self._go(lambda: self._begins.bury(tombstones, forced=forced))

    async def here(self, function: Callable[[], T]) -> T:
        """For the handle: in the thread, whoever asks, and inside of the transaction."""

        def work() -> T:
            finish(self._begin_once())
            finish(self._begins.say_begin())
            return function()

        return await self._django.here(work)

    async def _go(self, work: Callable[[], Coroutine[Any, Any, T]], *, silence: StoreError | None = None) -> T:
        async def all_of_it() -> T:
            await self._begin_once()
            return await work()

        if self._is_over:
            raise control.ended()
        try:
            async with asyncio.timeout(limits.ANSWER_WAIT):
                return await self._django.run(all_of_it)
        except TimeoutError as error:
            # A network that swallows packets gives no error, and the thread would wait for ever.
            self._hang_up()
            raise (silence or LedgerUnavailableError("ledger: the database does not answer")) from error

    def _driven(self) -> Driven:
        return DrivenDjango(self._inner, self, self._begin_once)

    def handled(self, function: Callable[[], Any], *, is_async: bool) -> Any:
        """In the thread."""
        handler = partial(self._django.wait_for, function) if is_async else function
        connection = self._django.connection
        finish(self._begin_once())
        finish(self._inner.scope())  # what the handler before it has set is undone
        connection.raise_fence()
        try:
            result = handler()
        finally:
            connection.lower()
        connection.check_handler()
        return result

    async def _run_hooks(self) -> None:
        call = self._django.start(self._django.connection.run_hooks)
        finished, _ = await asyncio.wait({call.ended}, timeout=HOOKS_SECONDS)
        if not finished:
            telemetry.warn("commit_hooks_still_run", seconds=HOOKS_SECONDS)


class DrivenDjango(Driven):
    lane: DjangoTransaction

    def call(self, function: Callable[[], Any], *, is_async: bool) -> Any:
        return self.lane.handled(function, is_async=is_async)

    async def scope(self) -> DjangoScope:
        return await self.lane.scope()


class DjangoScope:
    """A Scope. What a handler leaves behind is looked at when it returns, in its thread."""

    def __init__(self, handle: Transaction, lane: DjangoLane) -> None:
        self.handle = handle
        self._connection = lane.connection

    @property
    def used(self) -> bool:
        # On SQLite what `tx` sends goes past Django.
        return self._connection.fence.used or bool(getattr(self.handle, "used", False))

    def given(self, kind: str) -> Any:
        if kind == "connection":
            return self.handle.connection
        raise control.not_given(kind, "Django")

    def before_others(self, sending: Callable[[], Coroutine[Any, Any, None] | None]) -> bool:
        def send() -> None:
            if (work := sending()) is not None:
                finish(work)  # in the lane, where statements block

        self._connection.fence.before_others = send
        return True

    closes_at_once = True

    async def close(self) -> None:
        """Nothing is left unsent: Django's ORM sends what it is told when it is told."""
