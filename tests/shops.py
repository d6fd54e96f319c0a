"""Shops for tests of whole processes: an application in a folder of its own, on either store."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncpg

from landfast.app import Inbox
from landfast.demo.load import Connection
from landfast.demo.sender import Sender
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS

SECRET = "whsec_test_of_whole_processes"
TABLE = "CREATE TABLE orders (event_key TEXT NOT NULL)"
HEAD = """
import asyncio, os, pathlib, threading
from landfast import Inbox
inbox = Inbox()
inbox.source("stripe", provider="stripe", secrets=["env:STRIPE_WEBHOOK_SECRET"])
"""
ORDER = """
@inbox.on("stripe", "payment_intent.succeeded")
async def create_order(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ($1)", event.key)
"""
DOOR = """
    pathlib.Path(f"inside-{os.getpid()}").touch()
    while not pathlib.Path("open").exists():
        await asyncio.sleep(0.01)
"""


@dataclass(slots=True)
class Shop:
    folder: Path
    store: str
    ledger: str
    settings: dict[str, str] = field(default_factory=dict)
    """More of the environment, such as LANDFAST_LEASE."""

    @property
    def env(self) -> dict[str, str]:
        given = {"LANDFAST_STORE": self.store, "LANDFAST_LEDGER": self.ledger, "STRIPE_WEBHOOK_SECRET": SECRET}
        return os.environ | given | self.settings

    @property
    def sender(self) -> Sender:
        return Sender(SECRET)

    def write(self, *parts: str) -> None:
        (self.folder / "shop.py").write_text("".join([HEAD, *parts]))

    def take_time(self) -> None:
        """From its next start, a machine that stands still makes nobody late: whoever is told to stop, sends a request or
        a probe, or waits for a store has as long as a test waits."""
        (patches := self.folder / "patches").mkdir()
        (patches / "sitecustomize.py").write_text(_PATIENT)
        self.settings["PYTHONPATH"] = os.pathsep.join(filter(None, [str(patches), os.environ.get("PYTHONPATH")]))

    @asynccontextmanager
    async def serving(self, *options: str, app: str = "shop.py") -> AsyncIterator[Serve]:
        """However the test ends, nothing of it goes on running."""
        serve = await Serve.start(app, self.folder, env=self.env, options=options)
        try:
            yield serve
        finally:
            await serve.kill()

    async def run(self, *arguments: str) -> tuple[int, str, str]:
        """A `landfast` command that ends by itself: exit code, output, errors."""
        async with asyncio.timeout(PATIENCE_SECONDS), self.running(*arguments) as process:
            out, err = await process.communicate()
            assert process.returncode is not None
            return process.returncode, out.decode(), err.decode()

    @asynccontextmanager
    async def running(self, *arguments: str, stderr: int = PIPE) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            *_COMMAND, *arguments, cwd=self.folder, env=self.env, stdin=DEVNULL, stdout=PIPE, stderr=stderr
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            _, err = await process.communicate()
            sys.stderr.write((err or b"").decode())  # pytest shows it when the test fails

    def archive(self) -> AbstractAsyncContextManager[Any]:
        (self.folder / "none.toml").touch()
        return Inbox(self.folder / "none.toml", store=self.store, ledger=self.ledger).archive()

    async def send(self, serve: Serve, event: str) -> int | None:
        connection = Connection(serve.port)
        try:
            return await connection.send(self.sender.delivery(self.sender.payment(event)))
        finally:
            connection.close()

    async def count(self, state: State) -> int:
        async with self.archive() as archive:
            count: int = (await archive.census()).states.get(state, 0)
            return count

    async def create_orders(self) -> None:
        if self.ledger.startswith("postgresql:"):
            await self._query(TABLE)
        else:
            with closing(sqlite3.connect(self.ledger)) as db:
                db.execute(TABLE)

    async def orders(self) -> list[str]:
        if self.ledger.startswith("postgresql:"):
            return [row[0] for row in await self._query("SELECT event_key FROM orders")]
        with closing(sqlite3.connect(self.ledger)) as db:
            return [row[0] for row in db.execute("SELECT event_key FROM orders")]

    async def _query(self, query: str) -> list[Any]:
        connection = await asyncpg.connect(self.ledger)
        try:
            return list(await connection.fetch(query))
        finally:
            await connection.close()


def sqlite_shop(folder: Path) -> Shop:
    return Shop(folder, str(folder / "landfast.db"), str(folder / "ledger.db"))


def postgres_shop(folder: Path, dsn: str) -> Shop:
    return Shop(folder, dsn, dsn)


async def until(look: Callable[[], object], wanted: object, *, within: float = PATIENCE_SECONDS) -> None:
    """Poll, because other processes are at work."""
    async with asyncio.timeout(within):
        while True:
            seen = look()
            if (await seen if isinstance(seen, Awaitable) else seen) == wanted:
                return
            await asyncio.sleep(0.02)


_PATIENT = f"""
from functools import partial
from landfast.processes.children import lifeline
lifeline.GRACE_SECONDS = lifeline.Lifeline.__init__.__kwdefaults__["grace"] = {PATIENCE_SECONDS}
from landfast.web.http import connections, listener
listener.HANDSHAKE_SECONDS = {PATIENCE_SECONDS}
connections.Limits = partial(
    connections.Limits, request_seconds={PATIENCE_SECONDS}, handshake_seconds={PATIENCE_SECONDS}
)
from landfast.web import probe
probe.REQUEST_SECONDS = {PATIENCE_SECONDS}
from landfast.inboxes.postgres import connection
connection.ANSWERS_WITHIN = {PATIENCE_SECONDS}
from landfast.journals import spool
spool.BATCH_SECONDS = {PATIENCE_SECONDS}
"""
# Each before anybody can have imported it by its name.

_COMMAND = (sys.executable, "-m", "landfast")
