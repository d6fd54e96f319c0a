"""How SQLAlchemy's blocking code is run: in a greenlet on the loop, or as it is in a lane."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from sqlalchemy.util import await_only, greenlet_spawn

from landfast.domain.errors import CommitUnknownError
from landfast.ledgers import limits
from landfast.thread_calls import finish

T = TypeVar("T")


HANGS_UP_WITHIN = 1.0
"""Seconds for a driver to notice that its connection was cut, which takes it a moment."""


class Driving(Protocol):
    blocks: bool
    """Nothing of it suspends: it runs in a lane."""
    hang_up: Callable[[], None]
    """What to do about a server that does not answer."""

    async def run(self, work: Callable[[], T]) -> T:
        """From a coroutine of ours."""
        ...

    async def within(self, seconds: float, work: Callable[[], T]) -> T:
        """TimeoutError after so many seconds, where somebody can tell."""
        ...

    def inside(self, work: Coroutine[Any, Any, T]) -> T:
        """From a hook, which SQLAlchemy calls in the middle of such work."""
        ...

    async def to_its_end(self, work: Callable[[], T]) -> T:
        """What must not be given up half-way. CommitUnknownError for a caller that is cancelled: the work goes on."""
        ...

    async def until_quiet(self) -> None:
        """Nothing of it goes on any more."""
        ...


class OnTheLoop:
    """In greenlets: whatever waits inside of them suspends the coroutine that asked."""

    blocks = False

    def __init__(self) -> None:
        self._going_on: asyncio.Task[Any] | None = None
        self.hang_up: Callable[[], None] = lambda: None

    async def run(self, work: Callable[[], T]) -> T:
        return await greenlet_spawn(work)

    async def within(self, seconds: float, work: Callable[[], T]) -> T:
        # Some drivers do not give up when they are cancelled, and wait for the server to agree.
        alarm = asyncio.get_running_loop().call_later(seconds, self.hang_up)
        try:
            async with asyncio.timeout(seconds + HANGS_UP_WITHIN):
                return await greenlet_spawn(work)
        finally:
            alarm.cancel()

    def inside(self, work: Coroutine[Any, Any, T]) -> T:
        return await_only(work)

    async def to_its_end(self, work: Callable[[], T]) -> T:
        self._going_on = task = asyncio.create_task(self.within(limits.ANSWER_WAIT, work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError as error:
            raise CommitUnknownError("ledger: cancelled while COMMIT was under way") from error

    async def until_quiet(self) -> None:
        if self._going_on is not None:
            await asyncio.gather(self._going_on, return_exceptions=True)


class InALane:
    """Nothing waits: whoever asks is in the lane's thread, and blocks it."""

    blocks = True

    def __init__(self) -> None:
        self.hang_up: Callable[[], None] = lambda: None

    async def run(self, work: Callable[[], T]) -> T:
        return work()

    async def within(self, seconds: float, work: Callable[[], T]) -> T:  # noqa: ARG002 - whoever waits on the loop hangs up
        return work()

    def inside(self, work: Coroutine[Any, Any, T]) -> T:
        return finish(work)

    async def to_its_end(self, work: Callable[[], T]) -> T:
        return work()

    async def until_quiet(self) -> None:
        """Nothing goes on beside it."""
