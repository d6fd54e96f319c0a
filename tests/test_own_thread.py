"""A thread of its own for work that blocks."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
import weakref
from collections.abc import Iterator

import pytest

from landfast import own_thread
from landfast.own_thread import OwnThread
from tests.patience import PATIENCE_SECONDS


@pytest.fixture
def thread() -> Iterator[OwnThread]:
    one = OwnThread("test")
    yield one
    one.stop()


async def test_jobs_run_one_at_a_time_in_the_order_in_which_they_were_asked_for(thread: OwnThread) -> None:
    done: list[int] = []
    await asyncio.gather(*(thread.run(lambda number=number: done.append(number)) for number in range(50)))  # type: ignore[misc]
    assert done == list(range(50))
    assert await thread.run(lambda: threading.current_thread().name) == "test"


async def test_a_job_that_nobody_waits_for_is_not_begun_and_one_that_runs_can_ask(thread: OwnThread) -> None:
    go_on, began = threading.Event(), threading.Event()
    wanted: list[object] = []

    def slow() -> None:
        began.set()
        assert go_on.wait(PATIENCE_SECONDS)
        wanted.append(thread.is_wanted())

    first = asyncio.ensure_future(thread.run(slow))
    second = asyncio.ensure_future(thread.run(lambda: wanted.append("begun")))
    assert await asyncio.to_thread(began.wait, PATIENCE_SECONDS)
    first.cancel()
    second.cancel()
    await asyncio.wait([first, second])
    go_on.set()
    await thread.run(lambda: None)
    assert wanted == [False]


@pytest.mark.parametrize("error", [StopIteration(), KeyError("a"), KeyboardInterrupt()], ids=repr)
async def test_whatever_a_job_raises_reaches_its_caller(thread: OwnThread, error: BaseException) -> None:
    def fail() -> None:
        raise error

    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    with pytest.raises(expected):
        await thread.run(fail)
    assert await thread.run(lambda: 1) == 1


async def test_nothing_of_a_job_stays_alive_until_the_next_one(thread: OwnThread) -> None:
    class Held: ...

    async def work() -> weakref.ref[Held]:
        held = Held()
        await thread.run(lambda: held)
        return weakref.ref(held)

    left = await work()
    for _ in range(200):
        if left() is None:
            break
        await asyncio.sleep(0.01)
    assert left() is None


async def test_it_starts_again_after_a_stop_and_leaves_no_thread_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_thread, "STOP_WITHIN_SECONDS", PATIENCE_SECONDS)
    before = set(threading.enumerate())
    thread = OwnThread("test")
    for _ in range(2):
        assert await thread.run(lambda: 1) == 1
        thread.stop()
        thread.stop()
    assert set(threading.enumerate()) <= before  # one of another test's may have ended meanwhile


def test_a_fork_waits_for_the_job_that_runs(thread: OwnThread) -> None:
    """A child never sees the middle of one: SQLite's locks would be held in it for ever."""
    inside, over = threading.Event(), threading.Event()

    def job() -> None:
        inside.set()
        hashlib.sha256(bytes(4_000_000))  # others run meanwhile
        inside.clear()

    async def work() -> None:
        while not over.is_set():
            await thread.run(job)

    working = threading.Thread(target=asyncio.run, args=(work(),))
    working.start()
    try:
        ends = []
        for _ in range(30):
            assert inside.wait(PATIENCE_SECONDS)
            if (pid := os.fork()) == 0:
                os._exit(1 if inside.is_set() else 0)
            ends.append(os.waitpid(pid, 0)[1])
    finally:
        over.set()
        working.join(PATIENCE_SECONDS)
    assert not any(ends)
