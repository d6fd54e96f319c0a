"""The inbox as an ASGI application inside somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

from landfast import telemetry
from landfast.app.host_log import show_lines
from landfast.app.life import Life
from landfast.app.mounted_worker import InlineWorker, OpenWorker
from landfast.app.system_clock import SystemChance
from landfast.domain.answer import Answer
from landfast.domain.errors import LandfastError, OverloadedError
from landfast.intake.answers import later
from landfast.intake.receive import Intake
from landfast.web.asgi import asgi_app, send_answer

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Mounted:
    """The inbox as an ASGI application; it opens with the host's lifespan. Starlette and FastAPI forward none to what
    they mount, so give them `lifespan`; without it everything opens at the first request, and until then nothing is
    processed."""

    def __init__(
        self,
        intake: Callable[[], AbstractAsyncContextManager[Intake]],
        worker: OpenWorker | None,
    ) -> None:
        self._intake = intake
        self._worker = worker
        self._life: Life[App] | None = None

    def another(self) -> Mounted:
        """The same once more, for another process or loop."""
        return Mounted(self._intake, self._worker)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        try:
            app = await self._open()
        except LandfastError as error:
            telemetry.error("mount_not_opened", error=error)
            app = _overloaded
        await app(scope, receive, send)

    @asynccontextmanager
    async def lifespan(self, _host: object = None) -> AsyncIterator[None]:
        """For `FastAPI(lifespan=mounted.lifespan)`, or to be entered in a lifespan of your own."""
        await self._open()
        try:
            yield
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Close in an orderly way; for hosts without a lifespan."""
        if self._life is not None:
            life, self._life = self._life, None
            await life.close()

    async def _open(self) -> App:
        if self._life is None or self._life.is_over:
            show_lines()
            self._life = Life(partial(_serving, self._intake, self._worker))
        return await self._life.opened()

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._open()
        except LandfastError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})


@asynccontextmanager
async def _serving(
    open_intake: Callable[[], AbstractAsyncContextManager[Intake]], open_worker: OpenWorker | None
) -> AsyncIterator[App]:
    """A worker that fails meanwhile is not intake's business."""
    async with open_intake() as intake:
        if open_worker is None:
            yield asgi_app(intake)
            return
        ending, ready = asyncio.Event(), intake.ready
        worker = InlineWorker(open_worker, ending)
        intake.ready = lambda: worker.added_to(ready())
        working = asyncio.create_task(worker.run())
        try:
            await worker.opened
            yield asgi_app(intake)
        finally:
            ending.set()
            worker.stop()
            await working


def turned_away() -> Answer:
    """What senders are told while nothing can be taken in."""
    return later(OverloadedError.answer, SystemChance())


async def _overloaded(scope: Message, receive: Receive, send: Send) -> None:  # noqa: ARG001 - ASGI's signature
    await send_answer(send, turned_away())
