"""What the nemesis attacks: two machines over one PostgreSQL, a Valkey and three brokers, all of them real.

One machine records into the inbox, the other into JetStream; either has a spool behind that, workers, and two cables
of its own to the databases. They share the inbox, the ledger and the cache.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from landfast.demo.servers import Serve
from tests.crash.history import History, Line
from tests.crash.records import ORDERS
from tests.nats import Cluster
from tests.nemesis.load import Senders
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Proxy
from tests.servers import Postgres
from tests.shops import SECRET, Shop
from tests.valkey import Valkey

REPOSITORY = Path(__file__).parents[2]
APP = "tests.nemesis.shop:inbox"
READY_WITHIN = PATIENCE_SECONDS
"""Seconds until a process is ready again: two alone, and more behind an outage on a busy machine."""

LEASE_SECONDS = 2.0
"""Short, so that a worker that is stopped for longer is stopped for few seconds."""


@dataclass(slots=True)
class Machine:
    """A folder, two cables, and a `landfast serve` that can be killed as a whole and started again."""

    name: str
    shop: Shop
    inbox_cable: Proxy
    ledger_cable: Proxy
    options: tuple[str, ...]
    serve: Serve | None = None
    port: int = 0
    deaths: list[tuple[int, str, int | None]] = field(default_factory=list)
    """Pid, role and exit code, of those whose supervisor is gone as well."""

    async def start(self) -> None:
        env, folder = self.shop.env, self.shop.folder
        self.serve = await Serve.start(APP, folder, env=env, options=self.options, port=self.port)
        self.port = self.serve.port

    async def kill(self) -> None:
        """All of its processes at once."""
        if (serve := self._gone()) is not None:
            await serve.kill()

    async def stop(self) -> int | None:
        serve = self._gone()
        return None if serve is None else await serve.stop()

    def _gone(self) -> Serve | None:
        serve, self.serve = self.serve, None
        if serve is not None:
            self.deaths += [(pid, *death) for pid, death in serve.deaths.items()]
        return serve

    async def running(self) -> Serve:
        """Its `landfast serve`, once there is one: another fault may be starting it again."""
        while self.serve is None:
            await asyncio.sleep(0.05)
        return self.serve

    async def process(self, role: str) -> int:
        """The pid of one that is ready, once one is."""
        async with asyncio.timeout(READY_WITHIN):
            while True:
                serve = await self.running()
                with suppress(EOFError):  # it was killed as a whole meanwhile
                    await serve.until(lambda: bool(serve.pids(role)), within=READY_WITHIN)  # noqa: B023
                    return serve.pids(role)[0]


@dataclass(slots=True)
class World:
    folder: Path
    postgres: Postgres
    valkey: Valkey
    brokers: Cluster
    machines: tuple[Machine, ...]
    senders: Senders
    history: History
    killed: set[int] = field(default_factory=set)
    """Processes that a fault has ended."""

    def fired(self, fault: str) -> None:
        self.history.write(Line("fault", "ok", fault, 0, id=self.history.new_id()))

    @property
    def dsns(self) -> tuple[str, str]:
        """Of the inbox and of the ledger, by no cable."""
        return self.postgres.dsn("inbox"), self.postgres.dsn("ledger")


@asynccontextmanager
async def world(folder: Path, *, seed: int, senders: int, pace: float, processes: int) -> AsyncIterator[World]:
    for name in ("once", "direct", "journal"):
        (folder / name).mkdir()
    async with AsyncExitStack() as stack:
        postgres, valkey, brokers = Postgres(), Valkey(), Cluster()
        for server, start in ((postgres, postgres.create), (valkey, valkey.start), (brokers, brokers.start)):
            stack.callback(server.destroy)
            await asyncio.to_thread(start)
        await _make_databases(postgres)
        history = History(folder / "history")
        stack.callback(history.close)
        options = ("--intakes", str(processes), "--workers", str(processes))
        both = {"LANDFAST_REDIS": valkey.address, "LANDFAST_LEASE": str(LEASE_SECONDS), "NEMESIS_FOLDER": str(folder)}
        journal = {"LANDFAST_JOURNAL": brokers.url}
        machines = (
            await stack.enter_async_context(_machine(folder / "direct", postgres, options, both)),
            await stack.enter_async_context(_machine(folder / "journal", postgres, options, both | journal)),
        )
        load = Senders(lambda: [each.port for each in machines], SECRET, history, seed, pace, senders)
        yield World(folder, postgres, valkey, brokers, machines, load, history)


async def _make_databases(postgres: Postgres) -> None:
    for name in ("inbox", "ledger"):
        await asyncio.to_thread(postgres.execute, f"CREATE DATABASE {name}")
    await asyncio.to_thread(postgres.execute, ORDERS, database="ledger")


@asynccontextmanager
async def _machine(
    folder: Path, postgres: Postgres, options: tuple[str, ...], settings: dict[str, str]
) -> AsyncIterator[Machine]:
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    own = {"LANDFAST_SPOOL": str(folder / "spool"), "LANDFAST_SPOOL_ANYWHERE": "true", "PYTHONPATH": path}
    async with Proxy(postgres.port).running() as inbox, Proxy(postgres.port).running() as ledger:
        store = f"postgresql://postgres@127.0.0.1:{inbox.port}/inbox"
        books = f"postgresql://postgres@127.0.0.1:{ledger.port}/ledger"
        machine = Machine(folder.name, Shop(folder, store, books, settings | own), inbox, ledger, options)
        await machine.start()
        try:
            yield machine
        finally:
            await machine.kill()
