"""The seam between the loop and the thread of a transaction: who may cut the connection, and when."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from landfast.ledgers.lane import Lanes
from landfast.ledgers.laned import LanedTransaction
from landfast.processing.handlers.threads import Threads
from landfast.processing.trip import GivenUpError, OverranError, Trip, in_one_trip
from tests.patience import PATIENCE_SECONDS

DEADLINE = 0.02
IN_VAIN = 0.2
"""Seconds for which a test waits for what must not come."""
TENANT: ContextVar[str] = ContextVar("tenant", default="nobody's")


class Inner:
    """As much of a transaction as a trip to its thread uses."""

    lane = None

    def __init__(self) -> None:
        self.is_back = threading.Event()

    async def rollback(self) -> None:
        self.is_back.set()


class Scope:
    def __init__(self) -> None:
        self.closed_for: list[str] = []

    async def close(self) -> None:
        self.closed_for.append(TENANT.get())


class LetsItReturn(Threads):
    """Between the deadline and the cut the handler returns, and its thread has all the time to roll back."""

    def __init__(self, returns: threading.Event, inner: Inner) -> None:
        super().__init__()
        self._returns, self._inner = returns, inner

    def overran(self, call: Any) -> None:
        super().overran(call)
        self._returns.set()
        self._inner.is_back.wait(IN_VAIN)


def laned(inner: Inner, hang_up: Callable[[], None] = lambda: None, **more: Any) -> LanedTransaction:
    lanes = Lanes("test")
    return LanedTransaction(inner, lanes.take(), lanes, hang_up=hang_up, **more)  # type: ignore[arg-type]


async def travel(
    tx: LanedTransaction, handler: Callable[[], Any], scope: Scope, threads: Threads, deadline: float = DEADLINE
) -> Any:
    work: Any = SimpleNamespace(handler=SimpleNamespace(deadline=deadline, is_async=False, name="create_order"))

    async def handle(driven: Any, trip: Trip) -> Any:
        try:
            trip.begins(work)
            try:
                return await trip.call(work.handler, handler, scope, lambda: None)  # type: ignore[arg-type]
            finally:
                trip.ended()
        except BaseException:
            await driven.rollback()
            raise

    return await in_one_trip(tx, handle, tx.lane, deadline=deadline, threads=threads, hung=lambda: None)


async def test_a_connection_is_cut_before_the_thread_gives_it_back_and_never_after() -> None:
    """Whoever borrows it next would lose it, in the middle of whatever they do."""
    inner, returns, cut = Inner(), threading.Event(), []
    tx = laned(inner, lambda: cut.append(inner.is_back.is_set()))
    with pytest.raises(OverranError):
        await travel(tx, lambda: returns.wait(PATIENCE_SECONDS), Scope(), LetsItReturn(returns, inner))
    assert await asyncio.to_thread(inner.is_back.wait, PATIENCE_SECONDS), "the thread goes on, and rolls back"
    assert cut == [False]


async def test_a_late_handler_that_has_returned_waits_for_no_cut_of_a_worker_that_is_cancelled() -> None:
    work: Any = SimpleNamespace(handler=SimpleNamespace(deadline=0.0, is_async=False, name="create_order"))
    trip = Trip(0.0)
    trip.begins(work)
    trip._look()  # it is late

    def end() -> None:
        with pytest.raises(GivenUpError):
            trip.ended()

    thread = threading.Thread(target=end)
    thread.start()
    while trip._work is not None:
        await asyncio.sleep(0)
    assert not trip.give_up() and trip._is_cut.is_set()
    await asyncio.to_thread(thread.join, PATIENCE_SECONDS)
    trip.end()


async def test_a_cut_that_fails_costs_no_place() -> None:
    inner, returns, gone = Inner(), threading.Event(), asyncio.Event()

    def broken() -> None:
        raise ValueError("a bug")

    tx = laned(inner, broken, gone=gone.set)
    with pytest.raises(ValueError, match="a bug"):
        await travel(tx, lambda: returns.wait(PATIENCE_SECONDS), Scope(), LetsItReturn(returns, inner))
    await asyncio.wait_for(gone.wait(), PATIENCE_SECONDS)


async def test_who_cancels_is_told_so_although_the_cut_fails() -> None:
    begun, returns = threading.Event(), threading.Event()

    def broken() -> None:
        raise ValueError("a bug")

    def handler() -> None:
        begun.set()
        returns.wait(PATIENCE_SECONDS)

    worker = asyncio.create_task(travel(laned(Inner(), broken), handler, Scope(), Threads(), deadline=PATIENCE_SECONDS))
    assert await asyncio.to_thread(begun.wait, PATIENCE_SECONDS)
    worker.cancel()
    await asyncio.wait({worker})
    returns.set()
    assert worker.cancelled()


async def test_a_handler_whose_source_cannot_be_read_is_cut_as_any_other() -> None:
    """The lines of a stack come from the loader of the user's module, which may raise anything."""

    class Loader:
        def get_source(self, _name: str) -> str:
            raise ValueError("encrypted")

    inner, returns, gone, cut = Inner(), threading.Event(), asyncio.Event(), list[bool]()
    module: dict[str, Any] = {"__name__": "shop", "__loader__": Loader(), "returns": returns, "most": PATIENCE_SECONDS}
    exec(compile("def handler():\n    returns.wait(most)\n", "/nowhere/shop.py", "exec"), module)
    tx = laned(inner, lambda: cut.append(True), gone=gone.set)
    with pytest.raises(OverranError):
        await travel(tx, module["handler"], Scope(), Threads())
    assert cut == [True]
    returns.set()
    await asyncio.wait_for(gone.wait(), PATIENCE_SECONDS)


async def test_a_thread_that_cannot_be_started_costs_no_place_and_leaves_no_timer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    gone: list[bool] = []
    tx = laned(Inner(), gone=lambda: gone.append(True))
    timers: list[asyncio.TimerHandle] = []
    loop, later = asyncio.get_running_loop(), asyncio.get_running_loop().call_later

    def noted(*asked: Any) -> asyncio.TimerHandle:
        timers.append(later(*asked))
        return timers[-1]

    monkeypatch.setattr(loop, "call_later", noted)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refused)
        with pytest.raises(RuntimeError, match="can't start"):
            await travel(tx, lambda: None, Scope(), Threads())
    assert gone == [True] and timers and all(timer.cancelled() for timer in timers)


async def test_what_a_session_writes_at_the_end_is_written_in_the_context_of_its_handler() -> None:
    scope = Scope()
    await travel(laned(Inner()), lambda: TENANT.set("acme"), scope, Threads())
    assert scope.closed_for == ["acme"] and TENANT.get() == "nobody's"
