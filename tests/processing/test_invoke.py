"""Calling the user's functions: whatever they do, the worker lives."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

from landfast.domain.errors import DeadlineError
from landfast.processing import invoke as module
from landfast.processing.handlers.threads import Threads
from landfast.processing.invoke import HandlerRaisedError, Watch, invoke
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def threads() -> Iterator[Threads]:
    threads = Threads()
    yield threads
    threads.close()


def never() -> None:
    raise AssertionError("not hung")


async def call(
    function: Callable[..., Any],
    threads: Threads,
    *,
    deadline: float = PATIENCE_SECONDS,
    hung: Callable[[], None] = never,
) -> Any:
    return await invoke(
        partial(function, 1, more=2),
        is_async=asyncio.iscoroutinefunction(function),
        deadline=deadline,
        threads=threads,
        watch=Watch(hung),
    )


async def test_both_colours_return_what_the_function_returns(threads: Threads) -> None:
    async def on_loop(one: int, *, more: int) -> tuple[int, int, bool]:
        return one, more, threading.current_thread() is threading.main_thread()

    def in_thread(one: int, *, more: int) -> tuple[int, int, bool]:
        return one, more, threading.current_thread() is threading.main_thread()

    assert await call(on_loop, threads) == (1, 2, True)
    assert await call(in_thread, threads) == (1, 2, False)


@pytest.mark.parametrize(
    "kind", [Exception, SystemExit, KeyboardInterrupt, asyncio.CancelledError, StopIteration, TimeoutError]
)
@pytest.mark.parametrize("colour", ["async", "sync"])
async def test_whatever_it_raises_arrives_as_one_ordinary_error(
    kind: type[BaseException], colour: str, threads: Threads
) -> None:
    async def on_loop(_: int, *, more: int) -> None:
        raise kind

    def in_thread(_: int, *, more: int) -> None:
        raise kind

    with pytest.raises(HandlerRaisedError) as caught:
        await call(on_loop if colour == "async" else in_thread, threads)
    expected = RuntimeError if kind is StopIteration and colour == "async" else kind
    assert isinstance(caught.value.error, expected)


async def test_a_slow_async_function_is_cancelled_at_its_deadline(threads: Threads) -> None:
    async def slow(_: int, *, more: int) -> None:
        await asyncio.Event().wait()

    with pytest.raises(HandlerRaisedError) as caught:
        await call(slow, threads, deadline=0.01)
    assert isinstance(caught.value.error, DeadlineError)


async def test_one_that_swallows_its_cancellation_and_returns_has_missed_its_deadline_all_the_same(
    threads: Threads,
) -> None:
    async def stubborn(_: int, *, more: int) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done anyway"
        return "never"

    with pytest.raises(HandlerRaisedError) as caught:
        await call(stubborn, threads, deadline=0.01)
    assert "ignored its cancellation" in str(caught.value.error)


async def test_one_that_swallows_its_cancellation_and_runs_on_is_reported_as_hung(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    is_hung = asyncio.Event()

    async def stubborn(_: int, *, more: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await is_hung.wait()

    with pytest.raises(HandlerRaisedError):
        await call(stubborn, threads, deadline=0.01, hung=is_hung.set)
    assert is_hung.is_set()


async def test_a_thread_past_its_deadline_is_reported_as_hung_if_it_never_ends(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    is_hung, let_go = asyncio.Event(), threading.Event()

    def stuck(_: int, *, more: int) -> None:
        let_go.wait(PATIENCE_SECONDS)

    with pytest.raises(HandlerRaisedError) as caught:
        await call(stuck, threads, deadline=0.01, hung=is_hung.set)
    assert isinstance(caught.value.error, DeadlineError)
    await asyncio.wait_for(is_hung.wait(), PATIENCE_SECONDS)
    let_go.set()


async def test_stopping_the_worker_is_not_the_functions_fault(threads: Threads) -> None:
    started = asyncio.Event()

    async def waiting(_: int, *, more: int) -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(call(waiting, threads))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_one_watch_keeps_everybody_to_a_deadline_of_their_own(threads: Threads) -> None:
    watch, one_was_late = Watch(never), asyncio.Event()

    async def run(waits_for: asyncio.Event, *, deadline: float) -> str:
        async def waiting() -> str:
            await waits_for.wait()
            return "in time"

        try:
            return str(await invoke(waiting, is_async=True, deadline=deadline, threads=threads, watch=watch))
        except HandlerRaisedError as raised:
            one_was_late.set()
            return type(raised.error).__name__

    never_set = asyncio.Event()
    together = [run(never_set, deadline=0.06), run(one_was_late, deadline=60), run(never_set, deadline=0.02)]
    assert await asyncio.gather(*together) == ["DeadlineError", "in time", "DeadlineError"]
    assert await run(never_set, deadline=0.01) == "DeadlineError", "the timer is set anew"


async def test_a_function_that_is_late_when_its_worker_stops_is_stopped(threads: Threads) -> None:
    is_cancelled = asyncio.Event()

    async def slow_to_end(_: int, *, more: int) -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            is_cancelled.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(call(slow_to_end, threads, deadline=0.01))
    await is_cancelled.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_late_function_leaves_no_cancellation_behind(threads: Threads) -> None:
    async def slow(_: int, *, more: int) -> None:
        await asyncio.Event().wait()

    with pytest.raises(HandlerRaisedError):
        await call(slow, threads, deadline=0.01)
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_deadlines_of_different_lengths_leave_one_timer_behind() -> None:
    watch, loop = Watch(never), asyncio.get_running_loop()

    async def quick() -> None: ...

    long = watch.begin(quick, 60.0)
    for _ in range(50):
        watch.end(watch.begin(quick, 1.0))
        watch._ring()  # as if that second were over, while the long one runs on
    timers = [each for each in loop._scheduled if not each.cancelled()]  # type: ignore[attr-defined]
    watch.end(long)
    assert len(timers) <= 1


class Foreign:
    """An awaitable of some library, which answers as it likes when it is asked for an attribute."""

    def __init__(self, answer: Callable[["Foreign", str], Any]) -> None:
        self.answer = answer
        self.asked: list[str] = []

    def __await__(self) -> Any:
        return self  # an iterator will do

    def __iter__(self) -> "Foreign":
        return self

    def __next__(self) -> None:
        return None  # the same as a bare yield: its task goes on in the loop's next round

    def __getattr__(self, name: str) -> Any:
        if name in {"send", "throw", "close"}:  # which the interpreter asks for when it is cancelled
            raise AttributeError(name)
        self.asked.append(name)
        if len(self.asked) > 1000:
            raise AssertionError("asked for ever")
        return self.answer(self, name)


def unbound(_: Foreign, name: str) -> Any:
    raise RuntimeError(f"{name} is not bound to a request")


def itself(foreign: Foreign, _: str) -> Any:
    return foreign


@pytest.mark.req("R24")
@pytest.mark.parametrize("answer", [unbound, itself])
async def test_whatever_a_late_function_waits_for_the_others_keep_their_deadlines(
    threads: Threads, answer: Callable[[Foreign, str], Any]
) -> None:
    foreign, watch = Foreign(answer), Watch(never)

    async def odd() -> None:
        await foreign

    async def hangs() -> None:
        await asyncio.Event().wait()

    async def missed(function: Callable[[], Any]) -> BaseException:
        with pytest.raises(HandlerRaisedError) as caught:
            await invoke(function, is_async=True, deadline=0.02, threads=threads, watch=watch)
        return caught.value.error

    async with asyncio.timeout(PATIENCE_SECONDS):
        errors = [*await asyncio.gather(missed(odd), missed(hangs)), await missed(hangs)]
    assert [type(error) for error in errors] == [DeadlineError] * 3
    assert not foreign.asked


async def test_an_error_in_the_timer_costs_nobody_a_deadline(threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    errors: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: errors.append(str(context["exception"])))

    def hung() -> None:
        raise RuntimeError("odd")

    watch, leave = Watch(hung), asyncio.Event()

    async def stubborn() -> None:
        while not leave.is_set():
            with suppress(asyncio.CancelledError):
                await leave.wait()

    async def hangs() -> None:
        await asyncio.Event().wait()

    def late(function: Callable[[], Any], deadline: float) -> asyncio.Task[Any]:
        return asyncio.create_task(invoke(function, is_async=True, deadline=deadline, threads=threads, watch=watch))

    one, other = late(stubborn, 0.01), late(hangs, 0.1)
    ended, _ = await asyncio.wait([other], timeout=PATIENCE_SECONDS)
    leave.set()
    other.cancel()
    results = await asyncio.gather(one, other, return_exceptions=True)
    assert errors == ["odd"]
    assert ended and [type(result) for result in results] == [HandlerRaisedError] * 2


class Uncancellable(asyncio.Future[None]):
    def cancel(self, msg: Any = None) -> bool:
        raise RuntimeError("not now")


async def test_a_future_that_cannot_be_cancelled_costs_nobody_else_a_deadline(
    threads: Threads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    hung, future = asyncio.Event(), Uncancellable()
    watch = Watch(hung.set)

    async def odd() -> None:
        await future

    with pytest.raises(HandlerRaisedError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await invoke(odd, is_async=True, deadline=0.01, threads=threads, watch=watch)
    assert hung.is_set()
    future.set_result(None)
    watch.recall([""])


@pytest.mark.parametrize("colour", ["async", "sync"])
async def test_a_function_that_outlives_the_stop_of_its_worker_is_reported_and_counted(
    threads: Threads, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, colour: str
) -> None:
    monkeypatch.setattr(module, "CANCEL_GRACE_SECONDS", 0.01)
    entered, leave, leave_thread = asyncio.Event(), asyncio.Event(), threading.Event()
    loop, before = asyncio.get_running_loop(), len(module.LEFT_BEHIND)

    async def on_loop(_: int, *, more: int) -> None:
        entered.set()
        while not leave.is_set():
            with suppress(asyncio.CancelledError):
                await leave.wait()

    def in_thread(_: int, *, more: int) -> None:
        loop.call_soon_threadsafe(entered.set)
        leave_thread.wait(PATIENCE_SECONDS)

    task = asyncio.create_task(call(on_loop if colour == "async" else in_thread, threads))
    await entered.wait()
    task.cancel()
    async with asyncio.timeout(PATIENCE_SECONDS):
        with pytest.raises(asyncio.CancelledError):
            await task
        while len(module.LEFT_BEHIND) == before:
            await asyncio.sleep(0.001)
        leave.set()
        leave_thread.set()
        while len(module.LEFT_BEHIND) > before:
            await asyncio.sleep(0.001)
    assert "still_running_after_its_worker_stopped" in caplog.text
