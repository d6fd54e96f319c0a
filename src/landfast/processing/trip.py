"""A transaction that lives in a thread, run there in one go: its statements, and one handler after the other.

The loop is told when all of it is over. Meanwhile it only looks, now and then, whether a handler has overrun its
deadline: a trip between the two takes about as long as a statement, and a group has a hundred handlers.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from landfast import telemetry
from landfast.domain.errors import DeadlineError
from landfast.ports.ledger import DrivenTransaction, Lane, LedgerTransaction, Scope
from landfast.processing.handlers.registry import Handler
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import (
    HandlerRaisedError,
    Then,
    Watch,
    close_scope,
    followed,
    invoke,
    left_by_its_worker,
    overran,
)
from landfast.processing.work import Work
from landfast.thread_calls import Call, ending_of, finish

T = TypeVar("T")

CUT_SECONDS = 10.0
"""For the loop to hang up on a handler that was given up: it does so at once, unless it is busy itself."""


class OverranError(Exception):
    """A handler still runs after its deadline. Its thread rolls back when it returns."""

    def __init__(self, work: Work, error: DeadlineError) -> None:
        super().__init__()
        self.work = work
        self.error = error


class GivenUpError(Exception):
    """Nobody waits for this trip any more: nothing of it may be committed."""


class Caller(Protocol):
    """How the handlers of a transaction are called. GivenUpError where nobody waits for it any more."""

    def begins(self, work: Work) -> None:
        """The handler of this event is about to run."""
        ...

    def ended(self) -> None:
        """It has run, and what it left was looked at."""
        ...

    def check(self) -> None:
        """Before COMMIT."""
        ...

    async def call(self, handler: Handler, function: Callable[[], Any], scope: Scope, then: Then) -> Any:
        """What it returned, once its scope is closed; HandlerRaisedError."""
        ...


class OnTheLoop:
    """A Caller for transactions that live on the loop: there, or each handler in a thread."""

    def __init__(self, threads: Threads, watch: Watch) -> None:
        self._threads = threads
        self._watch = watch

    def begins(self, work: Work) -> None:
        """Whoever waits for the handler is cancelled with it."""

    def ended(self) -> None: ...

    def check(self) -> None: ...

    async def call(self, handler: Handler, function: Callable[[], Any], scope: Scope, then: Then) -> Any:
        result = await invoke(
            function,
            is_async=handler.is_async,
            deadline=handler.deadline,
            threads=self._threads,
            watch=self._watch,
            handler=handler.name,
            then=then,
        )
        await close_scope(scope, handler.deadline)
        return result


class Trip:
    """A Caller in the thread of the transaction, which uses it as one. `wait` and `give_up` are for the loop."""

    driven: DrivenTransaction

    def __init__(self, deadline: float) -> None:
        """The shortest one of its handlers'."""
        self._loop = asyncio.get_running_loop()
        self._deadline = deadline
        self._turn = threading.Lock()
        """A handler that returns at its deadline is either late or not, and both sides must say the same."""
        self._work: Work | None = None
        self._late_at = 0.0
        self._is_given_up = False
        self._is_cut = threading.Event()
        """The loop has hung up on the handler that it gave up."""
        self._over: asyncio.Future[Work | None] = self._loop.create_future()
        self._timer = self._loop.call_later(deadline, self._look)

    def begins(self, work: Work) -> None:
        with self._turn:
            self._check()
            self._work, self._late_at = work, self._loop.time() + work.handler.deadline

    def ended(self) -> None:
        with self._turn:
            self._work = None
            is_given_up = self._is_given_up  # while its handler ran: the loop is about to hang up
        if is_given_up:
            # Not before that may its connection go to somebody else, who would lose it.
            self._is_cut.wait(CUT_SECONDS)
            raise GivenUpError

    def check(self) -> None:
        with self._turn:
            self._check()

    async def call(self, handler: Handler, function: Callable[[], Any], scope: Scope, then: Then) -> Any:
        whole = followed(function, then, is_async=handler.is_async)

        def to_its_end() -> Any:
            result = self.driven.call(whole, is_async=handler.is_async)
            finish(scope.close())  # what a session writes there is the handler's, too, and in its context
            return result

        result, error = ending_of(to_its_end)
        if error is not None:
            raise HandlerRaisedError(error) from error
        return result

    async def wait(self, call: Call) -> Work | None:
        """Until it is over: None. Or until one of its handlers is late, and which."""
        call.ended.add_done_callback(lambda _: self._tell(None))
        try:
            return await self._over
        finally:
            self._timer.cancel()

    def give_up(self) -> bool:
        """Whether a handler runs now. If not, what the thread does meanwhile ends by itself."""
        with self._turn:
            self._is_given_up = True
            if self._work is None:
                self._is_cut.set()  # nobody is hung up on, and a handler that was late has returned meanwhile
            return self._work is not None

    async def roll_back(self, tx: LedgerTransaction) -> None:
        """With a handler that was given up: it goes on once this is done, and rolls back itself."""
        try:
            await tx.rollback()
        finally:
            self._is_cut.set()

    def end(self) -> None:
        """It never began."""
        self._timer.cancel()

    def _check(self) -> None:
        if self._is_given_up:
            raise GivenUpError

    def _look(self) -> None:
        with self._turn:
            work, late_at = self._work, self._late_at
            is_late = work is not None and late_at <= self._loop.time()
            self._is_given_up = self._is_given_up or is_late
        if is_late:
            self._tell(work)
            return
        # Another handler has begun meanwhile, or none runs now: one that begins later is not late before this rings.
        again = late_at if work is not None else self._loop.time() + self._deadline
        self._timer = self._loop.call_at(again, self._look)

    def _tell(self, late: Work | None) -> None:
        if not self._over.done():  # whoever waits may have been cancelled, or told of the other
            self._over.set_result(late)


async def in_one_trip(
    tx: LedgerTransaction,
    work: Callable[[DrivenTransaction, Trip], Coroutine[Any, Any, T]],
    lane: Lane,
    *,
    deadline: float,
    threads: Threads,
    hung: Callable[[], None],
) -> T:
    """What comes of the work in the lane of the transaction, which is over then. OverranError at a deadline, of which
    the shortest is given."""
    trip = Trip(deadline)

    async def drive(driven: DrivenTransaction) -> T:
        trip.driven = driven
        with contextlib.suppress(GivenUpError):
            return await work(driven, trip)
        raise GivenUpError  # a new one: the first keeps the handler's frames, and SQLite the lock of a cursor in them

    try:
        call = lane.drive(drive)
    except BaseException:  # such as no thread: no statement of it was sent
        trip.end()
        await lane.leave()
        raise
    try:
        late = await trip.wait(call)
    except asyncio.CancelledError:
        if trip.give_up():
            left_by_its_worker(call)
            try:
                await trip.roll_back(tx)
            except Exception as bug:  # noqa: BLE001 - whoever cancels is told of that, whatever else fails
                telemetry.error("rollback_failed", trace=bug)
        else:
            await asyncio.shield(asyncio.ensure_future(_left(lane, call)))
        raise
    if late is not None:
        try:
            error = overran(call, late.handler.deadline, threads, hung)
        finally:
            await trip.roll_back(tx)
        raise OverranError(late, error)
    await lane.leave()
    result, failure = call.ended.result()
    if failure is not None:
        raise failure
    value: T = result
    return value


async def _left(lane: Lane, call: Call) -> None:
    """A statement of ours is under way, or nothing: it ends soon, by its answer or because nobody gives one."""
    await asyncio.wait({call.ended})
    await lane.leave()
