"""One thread of its own for one database file: SQLite blocks while it waits for the disk, an event loop must not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from landfast.domain.errors import InboxUnavailableError

T = TypeVar("T")

PATIENCE = 30.0
"""Seconds until a call is given up. A disk that takes longer is as good as gone; senders give up after ten."""


class OwnThread:
    """Runs jobs one after the other. A job that nobody waits for any more is skipped."""

    def __init__(self, name: str) -> None:
        self._jobs: SimpleQueue[tuple[Callable[[], Any], asyncio.Future[Any]] | None] = SimpleQueue()
        self._current: asyncio.Future[Any] | None = None
        # A daemon, because a disk that never answers must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    async def run(self, job: Callable[[], T]) -> T:
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put((job, answer))
        try:
            async with asyncio.timeout(PATIENCE):
                return await answer
        except TimeoutError:
            raise InboxUnavailableError(f"the inbox did not answer within {PATIENCE:g} seconds") from None

    def is_wanted(self) -> bool:
        """Asked by a job that had to wait: whether its caller still does."""
        return self._current is not None and not self._current.cancelled()

    def stop(self) -> None:
        """End after what was asked for before. Call it once the last answer is there, and it returns at once."""
        self._jobs.put(None)
        self._thread.join(timeout=1)

    def _work(self) -> None:
        while (next_ := self._jobs.get()) is not None:
            job, self._current = next_
            if self._current.cancelled():
                continue
            result, error = None, None
            try:
                result = job()
            except BaseException as raised:  # noqa: BLE001 - whatever it is, it is the caller's to handle
                error = raised
            _answer(self._current, result, error)
            # Nothing of the last job may stay alive here until the next one comes.
            del next_, job, result, error
            self._current = None


def _answer(answer: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    def deliver() -> None:
        if answer.cancelled():
            return
        if error is None:
            answer.set_result(result)
        else:
            answer.set_exception(error)

    try:
        answer.get_loop().call_soon_threadsafe(deliver)
    except RuntimeError:
        return  # the loop has closed: nobody is left to tell
