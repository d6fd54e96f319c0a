"""Lanes of Django: threads with a connection of Django's each, or the thread of a test."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from landfast.ledgers.django.connection import DjangoConnection
from landfast.ledgers.lane import Lane, Lanes
from landfast.thread_calls import Call

T = TypeVar("T")


class DjangoLane(Lane):
    """Its connection stays with it from transaction to transaction."""

    def __init__(self, name: str, connection: DjangoConnection) -> None:
        super().__init__(name)
        self.connection = connection
        self._ident: int | None = None
        self._waits_for_coroutine = False

    async def here(self, function: Callable[[], T]) -> T:
        """Run a blocking function in this thread, whoever asks: the loop, the handler, or a coroutine that the handler
        is."""
        if threading.get_ident() == self._ident:
            return function()
        if self._waits_for_coroutine:
            from asgiref.sync import sync_to_async

            return await sync_to_async(function, thread_sensitive=True)()

        async def work() -> T:
            return function()

        return await self.run(work)

    def when_free(self, then: Callable[[], None]) -> None:
        if self._handler is not None:
            self._handler.ended.add_done_callback(lambda _: then())

    async def close(self) -> None:
        """The connection can only be closed in its own thread. Whoever holds it up for too long keeps it."""
        call = self._put(self.connection.drop)
        self.stop()
        await asyncio.wait({call.ended}, timeout=1.0)

    def _put(self, function: Callable[[], Any]) -> Call:
        return super()._put(lambda: self._noting(function))

    def _noting(self, function: Callable[[], T]) -> T:
        self._ident = threading.get_ident()
        return function()

    def wait_for(self, function: Callable[[], Any]) -> Any:
        """In the thread: an `async def` handler runs on a loop of its own beside it, and whatever of Django it awaits
        comes back here. So the ORM finds our transaction in both kinds."""
        from asgiref.sync import async_to_sync

        async def handler() -> Any:
            return await function()

        self._waits_for_coroutine = True
        try:
            return async_to_sync(handler)()
        finally:
            self._waits_for_coroutine = False


class InlineLane(DjangoLane):
    """The thread that waits in `async_to_sync` for the loop: that of a test. It has the test's own connection, and so
    its transaction and its rows."""

    def _put(self, function: Callable[[], Any]) -> Call:
        from asgiref.sync import sync_to_async

        call = Call(lambda: self._noting(function))
        running = asyncio.ensure_future(sync_to_async(call.perform, thread_sensitive=True)())
        call.ended.add_done_callback(lambda _: running)  # which keeps the task alive until then
        return call

    def stop(self) -> None:
        """The thread is not ours to end."""


class DjangoLanes(Lanes):
    """One for each transaction at the same time."""

    def __init__(self, connect: Callable[[], DjangoConnection], *, is_inline: bool = False) -> None:
        super().__init__("landfast-django")
        self._connect = connect
        self._is_inline = is_inline
        self._all: set[DjangoLane] = set()

    def take(self) -> DjangoLane:
        if self._idle:
            idle = self._idle.pop()
            assert isinstance(idle, DjangoLane)  # noqa: S101 - for the type checker: all of them are
            return idle
        kind = InlineLane if self._is_inline else DjangoLane
        lane = kind(self._name, self._connect())
        self._all.add(lane)
        return lane

    def give_back(self, lane: Lane) -> None:
        if lane.has_handler and not self._is_closed:
            # Hooks that take long. Its connection is still good, once they are through.
            assert isinstance(lane, DjangoLane)  # noqa: S101 - for the type checker: all of them are
            lane.when_free(lambda: self._idle.append(lane))
        elif not self._is_closed:
            self._idle.append(lane)

    async def close_all(self) -> None:
        """One that is lost to a handler closes its connection when the handler returns, or with the process."""
        self._is_closed = True
        self._idle.clear()
        lanes, self._all = self._all, set()
        await asyncio.gather(*(lane.close() for lane in lanes))
