"""A dashboard in a browser's reach: the shop's intake, worker and admin application in a thread beside the test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import uvicorn

from landfast.admin.app import make_app
from landfast.intake.receive import Intake
from landfast.operations.replay_jobs import carry_out
from landfast.testing.draining import Draining
from landfast.testing.requests import answer_of, signed
from landfast.testing.sender_secrets import Pair
from landfast.testing.temporary import ShiftedClock
from landfast.testing.witness import Witness
from tests.admin.pages.shop import SECRETS, Shop
from tests.patience import PATIENCE_SECONDS

T = TypeVar("T")


class Storefront:
    def __init__(self, folder: Path) -> None:
        self.shop = Shop(folder)
        self.clock = ShiftedClock()
        self.shop.inbox.clock = self.clock
        self.port = 0
        """A free one, unless it is said before."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, call: Coroutine[Any, Any, T]) -> T:
        """From the test's thread, in the dashboard's."""
        return asyncio.run_coroutine_threadsafe(call, self._loop).result(PATIENCE_SECONDS)

    @contextmanager
    def open(self) -> Iterator[Storefront]:
        self._loop = asyncio.new_event_loop()
        is_open, is_over = threading.Event(), asyncio.Event()
        failed: list[BaseException] = []

        async def serve() -> None:
            try:
                async with self._serving():
                    is_open.set()
                    await is_over.wait()
            except BaseException as error:
                failed.append(error)
                raise
            finally:
                is_open.set()

        thread = threading.Thread(target=lambda: self._loop.run_until_complete(serve()))
        thread.start()
        try:
            assert is_open.wait(PATIENCE_SECONDS)
            if failed:
                raise failed[0]
            yield self
        finally:
            self._loop.call_soon_threadsafe(is_over.set)
            thread.join(PATIENCE_SECONDS)
            self._loop.close()

    @asynccontextmanager
    async def stocked(self) -> AsyncIterator[None]:
        """Both databases, an intake and something like a worker, without a server."""
        inbox = self.shop.inbox
        await inbox.migrate()
        self.shop.make_tables()
        self._draining = Draining(inbox, Witness(), ())
        async with inbox.intake() as self.intake, self._draining.stores() as self.stores:
            yield

    @asynccontextmanager
    async def _serving(self) -> AsyncIterator[None]:
        async with self.stocked():
            with socket.create_server(("127.0.0.1", self.port)) as listener:
                self.port = listener.getsockname()[1]
                app = make_app(self.shop.inbox, is_loopback=True)
                self._desk = app.state.desk
                config = uvicorn.Config(app, log_level="warning", lifespan="on", timeout_graceful_shutdown=2)
                server = uvicorn.Server(config)
                serving = asyncio.create_task(server.serve(sockets=[listener]))
                try:
                    yield
                finally:
                    server.should_exit = True
                    await serving

    async def deliver(self, source: str, body: dict[str, Any] | bytes, *, headers: dict[str, str] | None = None) -> int:
        """Signed as the provider does; the answer's status."""
        settings = self.shop.inbox.sources[source]
        pair = Pair((SECRETS[source],), SECRETS[source])
        request = signed(settings, pair, now=self.clock.now(), body=body, headers=headers)
        intake: Intake = self.intake
        return (await answer_of(intake, request)).status

    async def payment(
        self, number: int, *, has_email: bool = True, kind: str = "payment_intent.succeeded", **more: Any
    ) -> int:
        return await self.deliver(
            "stripe", payment(number, has_email=has_email, kind=kind, now=self.clock.now().timestamp(), **more)
        )

    async def drain(self) -> None:
        """Process what is ready."""
        await self._draining.drain(self.stores, effects=True)

    async def carry_out_replays(self) -> None:
        """As a worker does that sees that a job waits for one."""
        inbox = self.shop.inbox
        while await carry_out(self.stores.inbox, None, clock=inbox.clock, chance=inbox.chance):
            pass

    def break_inbox(self) -> None:
        """Its file is gone, and something else is there: whoever opens it anew is told so."""

        async def close() -> None:
            await self._desk.close()

        self.run(close())
        file = self.shop.folder / "landfast.db"
        file.rename(file.with_name("gone.db"))
        file.mkdir()

    def shift(self, **time: float) -> None:
        self.clock.offset += timedelta(**time)


def payment(
    number: int, *, now: float, has_email: bool = True, kind: str = "payment_intent.succeeded", **more: Any
) -> dict[str, Any]:
    described: dict[str, Any] = {
        "id": f"pi_3Nq{number:05}",
        "object": "payment_intent",
        "amount": 8999,
        "currency": "usd",
        "customer": f"cus_{number % 97:03}",
    }
    if has_email:
        described["receipt_email"] = f"customer{number}@example.com"
    event = {"id": f"evt_1Nq{number:05}", "object": "event", "created": int(now), "type": kind}
    return event | {"data": {"object": described | more}}
