"""The inbox as an ASGI application inside somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from landfast import telemetry
from landfast.app.system import SystemChance
from landfast.domain.errors import LandfastError, OverloadedError
from landfast.intake.answers import later
from landfast.intake.receive import Intake
from landfast.processing.worker import Worker
from landfast.web.asgi import asgi_app

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]


class Mounted:
    """Opens with the host's lifespan. Starlette and FastAPI forward none to what they mount, so give them `lifespan`;
    without it everything opens at the first request, and until then nothing is processed."""

    def __init__(
        self,
        intake: Callable[[], AbstractAsyncContextManager[Intake]],
        worker: Callable[[], AbstractAsyncContextManager[Worker]] | None,
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
            telemetry.error("the inbox cannot be opened, answering 503", error=error)
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
        worker: Callable[[], AbstractAsyncContextManager[Worker]] | None,
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
        open_worker: Callable[[], AbstractAsyncContextManager[Worker]] | None,
    ) -> None:
        try:
            async with open_intake() as intake:
                if open_worker is None:
                    self._app.set_result(asgi_app(intake))
                    await self._ending.wait()
                    return
                async with open_worker() as worker:
                    await self._serve(intake, worker)
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the opening
            if self._app.done():
                telemetry.error("the inbox closed with an error", trace=error)
            else:
                self._app.set_exception(error)

    async def _serve(self, intake: Intake, worker: Worker) -> None:
        """Until the end, or until the worker fails: then all is closed, and the next request opens it anew."""
        running = asyncio.create_task(worker.run())
        ending = asyncio.create_task(self._ending.wait())
        self._app.set_result(asgi_app(intake))
        try:
            await asyncio.wait([running, ending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            ending.cancel()
            worker.stop()
            await running


async def _overloaded(scope: Message, receive: Receive, send: Send) -> None:  # noqa: ARG001 - ASGI's signature
    answer = later(OverloadedError.answer, SystemChance())
    headers = [(b"content-type", answer.content_type), (b"content-length", b"%d" % len(answer.body)), *answer.headers]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
