"""`python -m bench.ordinary`: what a request costs by the ordinary path and by the general one, in processor time.

Both in one process and in turns, without sockets: bytes go into connections whose transport only counts. So it can be
told on a busy machine, too. The least of the rounds counts.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvloop
from rich.console import Console

from bench import deliveries, machine, stores
from bench.stage import ROOT
from bench.stores import DiskPostgres, Store
from landfast import Inbox
from landfast.intake.receive import Intake
from landfast.web.http.connections import Connections, Limits
from landfast.web.http.protocol import Connection

SENDERS = 64
"""Connections, each with one request at a time: a batch."""


class Counting:
    """A transport that tells when so many answers were written."""

    def __init__(self, done: Callable[[], None]) -> None:
        self._done = done

    def write(self, _answer: bytes) -> None:
        self._done()

    def get_extra_info(self, _name: str) -> None:
        return None


class Senders:
    def __init__(self, intake: Intake) -> None:
        connections = Connections(intake, limits=Limits(), time=time.monotonic)
        self._connections = [Connection(connections) for _ in range(SENDERS)]
        self._left = 0
        self._answered = asyncio.Event()
        for each in self._connections:
            each.connection_made(Counting(self._note))  # type: ignore[arg-type]  # as much of one as is used

    async def send(self, requests: Sequence[bytes]) -> float:
        """Microseconds for each, the store's thread included and its server not."""
        began = time.process_time()
        for start in range(0, len(requests), SENDERS):
            batch = requests[start : start + SENDERS]
            self._left = len(batch)
            self._answered.clear()
            for connection, request in zip(self._connections, batch, strict=False):
                connection.data_received(request)
            await self._answered.wait()
        return (time.process_time() - began) / len(requests) * 1e6

    def _note(self) -> None:
        self._left -= 1
        if not self._left:
            self._answered.set()


async def _measure(store: Store, *, rounds: int, count: int) -> None:
    os.environ |= {
        "LANDFAST_STORE": store.inbox,
        "LANDFAST_LEDGER": store.ledger,
        "BENCH_SECRET": deliveries.SECRET,
    }
    inbox = Inbox()
    inbox.source("stripe", provider="stripe", secrets=["env:BENCH_SECRET"])
    async with inbox.intake() as intake:
        senders, lines = Senders(intake), intake.ordinary.lines
        spent: dict[tuple[str, str], list[float]] = {}
        gc.collect()
        gc.freeze()
        for number in range(rounds):
            for path in ("ordinary", "general"):
                intake.ordinary.lines = lines if path == "ordinary" else {}
                requests = list(deliveries.requests(count, name=f"{path}{number:03}"))
                spent.setdefault(("a new event", path), []).append(await senders.send(requests))
                spent.setdefault(("a duplicate", path), []).append(await senders.send(requests))
        console = Console()
        for (what, path), values in sorted(spent.items()):
            console.print(f"{store.kind:12} {what:12} {path:9} {min(values):6.1f} microseconds", highlight=False)


@asynccontextmanager
async def _stores(parent: Path) -> AsyncIterator[list[Callable[[], Any]]]:
    folder, postgres = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=parent)), DiskPostgres(parent)
    try:
        postgres.create()
        yield [lambda: stores.on_postgres(postgres), lambda: stores.on_sqlite(folder)]
    finally:
        postgres.destroy()
        shutil.rmtree(folder, ignore_errors=True)


async def _main(options: argparse.Namespace) -> None:
    async with _stores(machine.on_disk(ROOT)) as opened:
        for each in opened:
            async with each() as store:
                await _measure(store, rounds=options.rounds, count=options.count)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.ordinary", description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=6_400, help="requests of each kind in a round")
    uvloop.run(_main(parser.parse_args()))


if __name__ == "__main__":
    main()
