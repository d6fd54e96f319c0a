"""A shop whose intake and worker run in the test's own process: real sockets, real files, and a doctor beside them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from landfast.app import Inbox
from landfast.app.flow_checkup import examine_running
from landfast.demo.load import Connection, post
from landfast.demo.sender import Sender
from landfast.operations.status import Status, status
from landfast.recovery.doctor import Check, Level
from landfast.web.http.server import HttpServer
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_of_the_shop_on_the_floor"


class Floor:
    def __init__(self, folder: Path, **settings: Any) -> None:
        (folder / "landfast.toml").touch()
        given = {"store": str(folder / "landfast.db"), "ledger": str(folder / "ledger.db"), **settings}
        self.inbox = Inbox(folder / "landfast.toml", **given)
        self.inbox.source("stripe", provider="stripe", secrets=[SECRET])
        self.port = 0
        self.answers: list[int | None] = []

    @asynccontextmanager
    async def taking_in(self) -> AsyncIterator[None]:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
            async with self.inbox.intake() as intake:
                server = HttpServer(intake)
                await server.start(listener)
                try:
                    yield
                finally:
                    await server.stop(grace=0)

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        async with self.inbox.worker(hung=lambda: None) as worker:
            running = asyncio.create_task(worker.run())
            try:
                yield
            finally:
                worker.stop()
                await asyncio.wait([running])

    async def send(
        self, count: int = 1, *, secret: str = SECRET, prefix: str = "evt", path: str = "/in/stripe"
    ) -> None:
        """So many payments, each once."""
        sender = Sender(secret)
        connection = Connection(self.port)
        for number in range(count):
            body = sender.payment(f"{prefix}_{number}")
            request = sender.delivery(body) if path == "/in/stripe" else post(path, {}, body)
            self.answers.append(await connection.send(request))
        connection.close()

    async def look(self) -> Status:
        handlers = [handler.name for handler in self.inbox.registry.handlers]
        async with self.inbox.archive() as archive:
            return await status(archive, now=self.inbox.clock.now(), sources=self.inbox.sources, handlers=handlers)

    async def examine(self) -> dict[str, Check]:
        """The doctor's checks of what runs; the worst of those of one name."""
        found: dict[str, Check] = {}
        for check in await examine_running(self.inbox, has_ledger=self._has_ledger()):
            if check.name not in found or found[check.name].level is Level.OK:
                found[check.name] = check
        return found

    def _has_ledger(self) -> bool:
        """An intake alone makes none."""
        return Path(self.inbox.settings.ledger.target).exists()

    async def until(
        self, holds: Callable[[dict[str, Check]], bool], *, within: float = PATIENCE_SECONDS
    ) -> dict[str, Check]:
        """The checks, as soon as they say so: what runs tells of itself every second."""
        async with asyncio.timeout(within):
            while not holds(found := await self.examine()):
                await asyncio.sleep(0.05)
        return found
