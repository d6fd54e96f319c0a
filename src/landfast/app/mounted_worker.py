"""A worker inside somebody else's process: it starts again by itself, and no handler ends the host."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress

import msgspec

from landfast import telemetry
from landfast.domain.errors import LoopEndedError, StoreError
from landfast.domain.readiness import Readiness
from landfast.processing.invoke import LEFT_BEHIND
from landfast.processing.worker import Worker

FIRST_PAUSE_SECONDS = 1.0
"""Before a worker that failed starts again: what a deploy of a database takes at least."""

LONGEST_PAUSE_SECONDS = 60.0
"""Each failure doubles the pause up to this. One that worked for as long begins with the first pause again."""

LEFT_BEHIND_AT_MOST = 32
"""Functions that hang in this process. A thread cannot be ended from outside, so each costs one of the host's, with its
stack, for ever: with this many, processing waits until some of them end. Intake goes on."""

OpenWorker = Callable[[Callable[[], None]], AbstractAsyncContextManager[Worker]]
"""Opens a worker that calls the given function when a handler hangs."""


class InlineWorker:
    def __init__(self, open_worker: OpenWorker, ending: asyncio.Event) -> None:
        self._open_worker = open_worker
        self._ending = ending
        self._worker: Worker | None = None
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """The first opening. A worker that fails later starts again; one that cannot even start is an error."""

    def added_to(self, ready: Readiness) -> Readiness:
        """The same, with a word about this worker. It never makes intake less ready."""
        return msgspec.structs.replace(ready, layers={**ready.layers, **self._notices()})

    async def run(self) -> None:
        """Until the host ends."""
        pause = FIRST_PAUSE_SECONDS
        while not self._ending.is_set():
            began = time.monotonic()
            error = await self._start()
            if not self.opened.done():
                self.opened.set_exception(error or LoopEndedError("the worker ended before it was open"))
                return
            if self._ending.is_set() and error is None:
                return
            pause = FIRST_PAUSE_SECONDS if time.monotonic() - began > LONGEST_PAUSE_SECONDS else pause
            if error is not None:
                telemetry.error("worker_failed", retry_seconds=f"{pause:g}", trace=error)
            await self._wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            while len(LEFT_BEHIND) >= LEFT_BEHIND_AT_MOST and not self._ending.is_set():
                await self._wait(pause)

    def stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()

    async def _start(self) -> BaseException | None:
        # In a task of its own: the user's lifespans run there, and may cancel it.
        running = asyncio.create_task(self._work())
        try:
            await asyncio.wait([running])
        finally:
            running.cancel()
        if running.cancelled():
            return LoopEndedError("the worker's task was cancelled by somebody else")
        return running.exception()

    async def _work(self) -> None:
        async with self._open_worker(self._left_behind) as worker:
            if not self.opened.done():
                self.opened.set_result(None)
            if self._ending.is_set():
                return
            self._worker = worker
            try:
                await worker.run()
            except BaseException:
                with suppress(StoreError):
                    await worker.let_go()
                raise
            finally:
                self._worker = None

    def _left_behind(self) -> None:
        """A function did not end at its deadline, nor when it was cancelled. Its event is tried again as after any
        missed deadline, and its place is given to another."""
        count = len(LEFT_BEHIND)
        telemetry.error("handler_left_behind", count=count, at_most=LEFT_BEHIND_AT_MOST)
        if count >= LEFT_BEHIND_AT_MOST:
            telemetry.error("processing_stopped", reason=f"{count} functions hang in this process; restart it")
            self.stop()

    def _notices(self) -> Mapping[str, str]:
        told = {
            "worker": "" if self._worker is not None else "not running",
            "hanging handlers": str(len(LEFT_BEHIND) or ""),
        }
        return {name: text for name, text in told.items() if text}

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._ending.wait()
