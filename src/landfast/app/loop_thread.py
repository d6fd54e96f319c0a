"""An event loop for hosts that have none of their own, or whose loop is not ours to use: one thread in each process."""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from landfast import telemetry
from landfast.telemetry import metrics


class Closable(Protocol):
    async def aclose(self) -> None: ...


T = TypeVar("T", bound=Closable)

CLOSE_SECONDS = 10.0
"""At the end of the process, for what was taken in to be stored and answered. Servers wait for 10 to 30 seconds before
they kill."""

_fork_safe = {"lock": threading.Lock()}
_inherited: list[object] = []
"""What a fork has copied from its parent: its thread is not here, and its connections are the parent's. It is kept, so
that no destructor closes what the parent goes on using."""

# Another thread may have held the lock when the process forked, and it does not exist in the child.
os.register_at_fork(after_in_child=lambda: _fork_safe.update(lock=threading.Lock()))


class Here(Generic[T]):
    """What there is in this process: a loop, its thread, and what lives on it."""

    def __init__(self, make: Callable[[], T]) -> None:
        self.pid = os.getpid()
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="landfast", daemon=True)
        self._thread.start()
        self.made: T = asyncio.run_coroutine_threadsafe(_made(make), self.loop).result()

    def close(self) -> None:
        """Whoever still waits for an answer gets it, or is cancelled after a while."""
        closing = asyncio.run_coroutine_threadsafe(self.made.aclose(), self.loop)
        try:
            closing.result(CLOSE_SECONDS)
        except Exception as error:  # noqa: BLE001 - the process ends anyway
            telemetry.error("mount_close_failed", trace=error)
        with suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._cancel_all)
        self._thread.join(1.0)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def _cancel_all(self) -> None:
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self._stopping = self.loop.create_task(_stop_after(asyncio.gather(*left, return_exceptions=True)))


class LoopThread(Generic[T]):
    """One `Here` for each process, made when it is first asked for: after the fork, wherever a server forks. It closes
    with the process."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._here: Here[T] | None = None
        self._is_closed = False
        atexit.register(self.close)

    def here(self) -> Here[T] | None:
        """None once it has closed."""
        here = self._here
        if here is not None and here.pid == os.getpid():
            return here
        with _fork_safe["lock"]:
            if self._is_closed:
                return None
            if self._here is None or self._here.pid != os.getpid():
                _inherited.append(self._here)
                metrics.be_alone()
                self._here = Here(self._make)
            return self._here

    def close(self) -> None:
        with _fork_safe["lock"]:
            self._is_closed = True
            here, self._here = self._here, None
        atexit.unregister(self.close)
        if here is not None and here.pid == os.getpid():
            here.close()
        else:
            _inherited.append(here)


async def _made(make: Callable[[], T]) -> T:
    return make()  # on the loop that it is for


async def _stop_after(ended: Awaitable[object]) -> None:
    await ended
    asyncio.get_running_loop().stop()
