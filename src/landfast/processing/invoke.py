"""Call one function of the user's: `async def` on the loop, `def` in a thread, each under its deadline.

An `async def` function runs in a task of its own. What it or a library does to `asyncio.current_task()`, now or in a
callback later, it does to that task: so a cancellation of our own task is always the worker's. A task costs about 8 µs
of the 240 that an event takes.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from math import inf
from traceback import StackSummary
from typing import Any

from landfast import telemetry, thread_calls
from landfast.domain.errors import DeadlineError
from landfast.ports.ledger import Lane, Scope
from landfast.processing.handlers.error_text import logged, name_of
from landfast.processing.handlers.stacks import in_one_line, stack_of_task, stack_of_thread
from landfast.processing.handlers.threads import Threads
from landfast.thread_calls import Call, Ending, followed_by

CANCEL_GRACE_SECONDS = 5.0
"""Seconds that a cancelled function gets to clean up before it is given up as hung."""

Then = Callable[[], Coroutine[Any, Any, None] | None]
"""What it returns is awaited, after an `async def`."""

LEFT_BEHIND: set[asyncio.Task[None] | Call] = set()
"""Functions of this process that were given up as hung and still run."""


def kill_this_process() -> None:
    """A function of the user's neither ends nor yields: nothing short of this frees what it holds."""
    telemetry.error("handler_hung", pid=os.getpid())
    os.kill(os.getpid(), signal.SIGKILL)


class RecalledError(Exception):
    """An operator takes back what is in hand. Nothing is held against the event."""


class HandlerRaisedError(Exception):
    """Carries what the user's function raised as an ordinary exception: a SystemExit, KeyboardInterrupt or
    CancelledError of the function's own must not end the worker."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(name_of(error))
        self.error = error


@dataclass(slots=True, eq=False)
class Run:
    """A function that runs on the loop."""

    task: asyncio.Task[None]
    ended: asyncio.Future[Ending]
    rings_at: float
    handler: str = ""
    is_late: bool = False
    """It was cancelled at its deadline."""
    stack: StackSummary = field(default_factory=StackSummary)
    """Where it was then, as far as that can be told."""
    is_recalled: bool = False


class Watch:
    """One timer for all functions on a loop. It cancels a function at its deadline, and reports one that still runs
    after that. A timer for each would cost as much as decoding its event.

    `hung` is called for a function that will not end. Where it returns, the function is left behind."""

    def __init__(self, hung: Callable[[], None]) -> None:
        self.hung = hung
        self._running: set[Run] = set()
        self._rings_at = inf
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, function: Callable[[], Any], deadline: float, handler: str = "", then: Then | None = None) -> Run:
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[Ending] = loop.create_future()
        rings_at = loop.time() + deadline
        run = Run(loop.create_task(_boxed(function, ended, then)), ended, rings_at, handler=handler)
        self._running.add(run)
        if rings_at < self._rings_at:
            self._set(rings_at)
        return run

    def end(self, run: Run) -> None:
        """Its alarm is off."""
        self._running.discard(run)

    def recall(self, handlers: Collection[str]) -> None:
        """Cancel what these handlers run on the loop now. What they have finished is committed all the same, and a
        thread cannot be cancelled."""
        for run in self._running:
            if run.handler in handlers and not run.is_recalled:
                run.is_recalled = True
                _cancel(run.task)

    def _set(self, rings_at: float) -> None:
        if self._timer is not None:  # one that is left behind would set another whenever it rings, and never end
            self._timer.cancel()
        self._rings_at = rings_at
        self._timer = asyncio.get_running_loop().call_at(rings_at, self._ring)

    def _ring(self) -> None:
        now = asyncio.get_running_loop().time()
        try:
            for run in [run for run in self._running if run.rings_at <= now]:
                if run.is_late:
                    run.rings_at = inf
                    self._give_up(run)
                else:
                    # A function that swallows its cancellation runs on; the alarm outlives it.
                    run.is_late, run.rings_at = True, now + CANCEL_GRACE_SECONDS
                    _cancel(run.task)
                    run.stack = stack_of_task(run.task)
        finally:  # without its timer no function of this worker has a deadline any more
            self._rings_at = min((run.rings_at for run in self._running), default=inf)
            if self._rings_at < inf:
                self._set(self._rings_at)

    def _give_up(self, run: Run) -> None:
        _report_hung(stack_of_task(run.task))
        _leave_behind(run.task, run.task)
        self.hung()
        if not run.ended.done():
            run.ended.set_result((None, None))


async def invoke(
    function: Callable[[], Any],
    *,
    is_async: bool,
    deadline: float,
    threads: Threads,
    watch: Watch,
    handler: str = "",
    lane: Lane | None = None,
    then: Then | None = None,
) -> Any:
    """What the function returned; HandlerRaisedError with what it raised, or with DeadlineError. A CancelledError is
    ours: the worker gives up what it has in hand. `lane` is the thread that the function must run in. `then` is called
    where the function ran, once it has returned, as if it were its last line."""
    if lane is None and is_async:
        calls = _on_loop(function, deadline, watch, handler, then)
    else:
        whole = followed(function, then, is_async=is_async)
        call = threads.start(whole) if lane is None else lane.start(whole, is_async=is_async)
        calls = _in_thread(call, deadline, threads, watch.hung)
    result, error = await calls
    if error is not None:
        raise HandlerRaisedError(error) from error
    return result


async def close_scope(scope: Scope, deadline: float) -> None:
    """After the function has returned. What this raises is the function's own error."""
    try:
        if scope.closes_at_once:  # a timer for each event costs as much as to decode it
            await scope.close()
            return
        async with asyncio.timeout(deadline):
            await scope.close()
    except TimeoutError as error:
        raise HandlerRaisedError(DeadlineError(f"what it left unsent took longer than {deadline:g} s")) from error
    except Exception as error:
        raise HandlerRaisedError(error) from error


def followed(function: Callable[[], Any], then: Then | None, *, is_async: bool) -> Callable[[], Any]:
    if then is None:
        return function
    if not is_async:
        return followed_by(function, then)

    async def call() -> Any:
        result = await function()
        if (rest := then()) is not None:
            await rest
        return result

    return call


async def _on_loop(
    function: Callable[[], Any], deadline: float, watch: Watch, handler: str, then: Then | None
) -> Ending:
    run = watch.begin(function, deadline, handler, then)
    try:
        result, error = await run.ended
    except asyncio.CancelledError:
        await _end_with_its_worker(run.task)
        raise
    finally:
        watch.end(run)
    if run.is_recalled:
        return None, RecalledError()
    if not run.is_late:
        return result, error
    if error is None:
        return None, _late(deadline, run.stack, " and ignored its cancellation")
    if issubclass(type(error), asyncio.CancelledError | TimeoutError):
        return None, _late(deadline, run.stack)
    return None, error


async def _boxed(function: Callable[[], Any], ended: asyncio.Future[Ending], then: Then | None) -> None:
    outcome: Ending
    try:
        outcome = await function(), None
        if then is not None and (rest := then()) is not None:
            await rest
    except BaseException as error:  # noqa: BLE001 - out of a task SystemExit would end the loop, and all of the worker
        outcome = None, error
    if not ended.done():
        ended.set_result(outcome)


async def _end_with_its_worker(task: asyncio.Task[None]) -> None:
    _cancel(task)
    try:
        await asyncio.wait({task}, timeout=CANCEL_GRACE_SECONDS)
    finally:
        if not task.done() and task not in LEFT_BEHIND:
            _report_outliving(stack_of_task(task))
            _leave_behind(task, task)


async def _in_thread(call: Call, deadline: float, threads: Threads, hung: Callable[[], None]) -> Ending:
    try:
        finished, _ = await asyncio.wait({call.ended}, timeout=deadline)
    except asyncio.CancelledError:
        left_by_its_worker(call)
        raise
    return call.ended.result() if finished else (None, overran(call, deadline, threads, hung))


def overran(call: Call, deadline: float, threads: Threads, hung: Callable[[], None]) -> DeadlineError:
    """A thread cannot be cancelled. Its transaction is taken away now; if it never ends, its process must."""
    threads.overran(call)
    asyncio.get_running_loop().call_later(CANCEL_GRACE_SECONDS, _give_up_thread, call, threads, hung)
    return _late(deadline, _stack_of(call))


def left_by_its_worker(call: Call) -> None:
    asyncio.get_running_loop().call_later(CANCEL_GRACE_SECONDS, _outlives_its_worker, call)


def _give_up_thread(call: Call, threads: Threads, hung: Callable[[], None]) -> None:
    if not call.ended.done():
        _report_hung(_stack_of(call))
        _leave_behind(call, call.ended)
        hung()
        threads.left_behind(call)


def _outlives_its_worker(call: Call) -> None:
    if not call.ended.done():
        _report_outliving(_stack_of(call))
        _leave_behind(call, call.ended)


def _stack_of(call: Call) -> StackSummary:
    return stack_of_thread(call.frame(), above=thread_calls.__file__)


def _report_hung(stack: StackSummary) -> None:
    telemetry.error("still_running_after_its_deadline", where=in_one_line(stack))


def _report_outliving(stack: StackSummary) -> None:
    telemetry.error("still_running_after_its_worker_stopped", where=in_one_line(stack))


def _cancel(task: asyncio.Task[None]) -> None:
    try:
        task.cancel()
    except Exception as error:  # noqa: BLE001 - the future that it waits for is asked too, and may be the user's own
        telemetry.error("not_cancelled", error=logged(error))


def _leave_behind(running: asyncio.Task[None] | Call, ended: asyncio.Future[Any]) -> None:
    LEFT_BEHIND.add(running)
    ended.add_done_callback(lambda _: LEFT_BEHIND.discard(running))


def _late(deadline: float, stack: StackSummary, how: str = "") -> DeadlineError:
    # Never raised itself, so that its trace shows the user's frames and none of ours.
    error = DeadlineError(f"it ran longer than its deadline of {deadline:g} s{how}")
    if stack:
        error.add_note(
            f"It was here when its time was over (most recent call last):\n{''.join(stack.format()).rstrip()}"
        )
    return error
