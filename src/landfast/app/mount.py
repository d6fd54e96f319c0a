"""The inbox as an ASGI application inside somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from landfast import telemetry
from landfast.app.mounted_worker import InlineWorker, OpenWorker
from landfast.app.system_clock import SystemChance
from landfast.domain.errors import LandfastError, OverloadedError
from landfast.intake.answers import later
from landfast.intake.receive import Intake
from landfast.web.asgi import asgi_app

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
        self._life: _Life | None = None

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
            self._life = _Life(self._intake, self._worker)
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


class _Life:
    """One opening, from start to end in one task: whoever asked first may be gone when it ends."""

    def __init__(
        self,
        intake: Callable[[], AbstractAsyncContextManager[Intake]],
        worker: OpenWorker | None,
    ) -> None:
        self._app: asyncio.Future[App] = asyncio.get_running_loop().create_future()
        self._ending = asyncio.Event()
        self._task = asyncio.create_task(self._run(intake, worker))

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def opened(self) -> App:
        return await asyncio.shield(self._app)

    async def close(self) -> None:
        self._ending.set()
        await self._task

    async def _run(
        self,
        open_intake: Callable[[], AbstractAsyncContextManager[Intake]],
        open_worker: OpenWorker | None,
    ) -> None:
        try:
            async with open_intake() as intake:
                if open_worker is None:
                    self._app.set_result(asgi_app(intake))
                    await self._ending.wait()
                else:
                    await self._serve(intake, InlineWorker(open_worker, self._ending))
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the opening
            if self._app.done():
                telemetry.error("mount_close_failed", trace=error)
            else:
                self._app.set_exception(error)

    async def _serve(self, intake: Intake, worker: InlineWorker) -> None:
        """Until the end. A worker that fails meanwhile is not intake's business."""
        ready = intake.ready
        intake.ready = lambda: worker.added_to(ready())
        working = asyncio.create_task(worker.run())
        try:
            await worker.opened
            self._app.set_result(asgi_app(intake))
            await self._ending.wait()
        finally:
            self._ending.set()
            worker.stop()
            await working


async def _overloaded(scope: Message, receive: Receive, send: Send) -> None:  # noqa: ARG001 - ASGI's signature
    answer = later(OverloadedError.answer, SystemChance())
    headers = [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
