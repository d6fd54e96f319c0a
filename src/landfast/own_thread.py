"""One thread for work that blocks: an event loop must not wait for a disk or a database."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

Jobs = SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None]

STOP_WITHIN_SECONDS = 1.0
"""For a thread to end that has nothing left to do. One that still waits for a disk ends with the process."""

FORKS_AFTER_SECONDS = 10.0
"""A fork waits so long for a job to end, and then no longer: a disk may never answer."""


class OwnThread:
    """Runs jobs in the order in which they were asked for, one at a time; a job that nobody waits for any more is
    skipped. It starts with the first job, and again with the first one after a stop. A queue and a thread, because a
    job through an executor costs twice as much, and every event has some."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: Jobs = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._current: asyncio.Future[Any] | None = None
        self._at_work = threading.Lock()
        _ALL.add(self)

    async def run(self, job: Callable[[], T]) -> T:
        """A caller that is cancelled leaves the job to finish, or not to begin, in its place in the queue."""
        if self._thread is None:
            # A daemon, because a disk that never answers must not keep the process from ending.
            self._thread = threading.Thread(target=self._work, args=(self._jobs,), name=self._name, daemon=True)
            self._thread.start()
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, answer))
        return await answer

    def is_wanted(self) -> bool:
        """Asked by a job that had to wait: whether its caller still does."""
        return self._current is not None and not self._current.cancelled()

    def stop(self) -> None:
        """End after what was asked for before. Call it once the last answer is there, and it returns at once."""
        thread, self._thread = self._thread, None
        jobs, self._jobs = self._jobs, SimpleQueue()
        if thread is not None:
            jobs.put(None)
            thread.join(STOP_WITHIN_SECONDS)

    def _work(self, jobs: Jobs) -> None:
        while (asked := jobs.get()) is not None:
            job, self._current = asked
            if not self._current.cancelled():
                result, error = None, None
                try:
                    with self._at_work:
                        result = job()
                except BaseException as raised:  # noqa: BLE001 - whatever it is, it is the caller's to handle
                    error = raised
                _tell(self._current, result, error)
                del result, error
            # Nothing of the last job may stay alive here until the next one comes.
            del asked, job
            self._current = None

    def pause(self) -> bool:
        """Until `go_on`, between two jobs. A job that forks cannot be waited for by itself."""
        if threading.current_thread() is self._thread:
            return False
        return self._at_work.acquire(timeout=FORKS_AFTER_SECONDS)

    def go_on(self) -> None:
        self._at_work.release()


_ALL: weakref.WeakSet[OwnThread] = weakref.WeakSet()
_PAUSED: list[OwnThread] = []


def _pause_all() -> None:
    """Before a fork. Within a job SQLite holds locks, and a child would inherit that they are held, without the thread
    that gives them back: it could never write to the same file again."""
    _PAUSED[:] = [each for each in list(_ALL) if each.pause()]


def _all_go_on() -> None:
    while _PAUSED:
        _PAUSED.pop().go_on()


os.register_at_fork(before=_pause_all, after_in_parent=_all_go_on, after_in_child=_all_go_on)


def _tell(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    try:
        answer.get_loop().call_soon_threadsafe(_deliver, answer, result, error)
    except RuntimeError:
        return  # the loop has closed: nobody is left to tell


def _deliver(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if answer.cancelled():
        return
    if error is None:
        answer.set_result(result)
    else:
        # A future refuses StopIteration, and whoever waits for it would wait for ever.
        answer.set_exception(RuntimeError(repr(error)) if isinstance(error, StopIteration) else error)
