"""`python -m bench.round_trips`: how often a handler's transaction waits for PostgreSQL, on each stack.

A relay between driver and server counts, with and without Landfast. That count is the same on a busy machine as on a
quiet one; so, nearly, is the processor time of client and server, which `--timed` measures without the relay.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from bench import machine, stores
from bench.rows import stacks
from bench.rows.stacks import GROUP, Stack
from bench.stage import ROOT
from bench.stores import DiskPostgres, Store
from landfast.ports.ledger import Ledger

COUNTED = 60
"""Transactions of each kind behind the relay: a driver prepares a statement when it has seen it five times, on each
connection of a pool."""

Runs = Callable[[], Awaitable[None]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.round_trips", description=__doc__)
    parser.add_argument("--timed", type=int, metavar="EVENTS", help="processor time instead, of so many events each")
    parser.add_argument("--rounds", type=int, default=3, help="of --timed")
    parser.add_argument("--only", default="", help="a part of the names of stacks")
    asked = parser.parse_args()
    chosen = [stack for stack in stacks.STACKS if asked.only in stack.name]
    server = DiskPostgres(machine.on_disk(ROOT))
    server.create()
    try:
        if asked.timed:
            asyncio.run(_time(server, chosen, asked.timed, asked.rounds))
        else:
            asyncio.run(_count(server, chosen))
    finally:
        server.destroy()


async def _count(server: DiskPostgres, chosen: Sequence[Stack]) -> None:
    async with _shop(server) as store:
        with _relay(store.inbox) as relay:
            for stack in chosen:
                for kind, trips in (await _counted(stack, store, relay)).items():
                    _say(f"{trips:5.1f} round trips a transaction: {kind}")


async def _time(server: DiskPostgres, chosen: Sequence[Stack], events: int, rounds: int) -> None:
    async with _shop(server) as store:
        for stack in chosen:
            spent = [await _timed(stack, store, events) for _ in range(rounds)]
            for kind in spent[0]:
                parts = zip(*(each[kind] for each in spent), strict=True)
                client, other, wall = (f"{statistics.median(part):6.0f} µs" for part in parts)
                _say(f"client {client}, server {other}, until the answer {wall} an event: {kind}")


@asynccontextmanager
async def _shop(server: DiskPostgres) -> AsyncIterator[Store]:
    async with stores.on_postgres(server) as store:
        async with stores.connected(store.inbox) as connection:
            await connection.execute(stacks.CREATE)
        yield store


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


@asynccontextmanager
async def _kinds(stack: Stack, dsn: str) -> AsyncIterator[dict[str, tuple[int, Runs]]]:
    """How many events a transaction of each kind has, and how one is run."""
    async with stack.given(dsn) as given:
        ledger = stacks.ledger_on(given)
        await ledger.open()
        try:
            await ledger.migrate()
            found: dict[str, tuple[int, Runs]] = {}
            for name, size in ((stacks.ALONE, 1), (stacks.GROUPED, GROUP)):
                found[stacks.RECEIPTED.format(stack.name, name)] = size, _receipted(ledger, stack, size)
                if stack.plain is not None:
                    found[stacks.PLAIN.format(stack.name, name)] = size, _plain(stack.plain, given, size)
            yield found
        finally:
            await ledger.close()


def _receipted(ledger: Ledger, stack: Stack, size: int) -> Runs:
    return lambda: stacks.transaction(ledger, stack, size)


def _plain(plain: Callable[[Any, int], Awaitable[None]], given: Any, size: int) -> Runs:
    return lambda: plain(given, size)


async def _counted(stack: Stack, store: Store, relay: Relay) -> dict[str, float]:
    async with _kinds(stack, relay.dsn(store.inbox)) as kinds:
        found = {}
        for kind, (_, run) in kinds.items():
            counts = []
            for _ in range(COUNTED):
                before = relay.turns
                await run()
                counts.append(relay.turns - before)
            found[kind] = statistics.median(counts[COUNTED // 2 :])
        return found


async def _timed(stack: Stack, store: Store, events: int) -> dict[str, tuple[float, float, float]]:
    async with _kinds(stack, store.inbox) as kinds:
        found = {}
        for kind, (size, run) in kinds.items():
            for _ in range(COUNTED):
                await run()
            pids = store.pids()
            before = time.process_time(), machine.server_seconds(pids), time.perf_counter()
            for _ in range(max(1, events // size)):
                await run()
            after = time.process_time(), machine.server_seconds(pids), time.perf_counter()
            spent = after[0] - before[0], machine.spent_between(before[1], after[1]), after[2] - before[2]
            client, server, wall = (seconds / (max(1, events // size) * size) * 1e6 for seconds in spent)
            found[kind] = client, server, wall
        return found


class Relay:
    """Between a driver and the server, on a loop of its own: blocking drivers need it, too."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._tasks: set[asyncio.Task[Any]] = set()
        self.port = 0
        self.turns = 0
        """How often a client has said something after the server had."""

    def dsn(self, direct: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}{urlsplit(direct).path}"

    async def serve(self, ready: Callable[[], None], over: asyncio.Event) -> None:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        ready()
        await over.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._tasks.add(task)
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self._target)
        has_answered = True

        async def forth() -> None:
            nonlocal has_answered
            while said := await reader.read(1 << 16):
                self.turns += has_answered
                has_answered = False
                far_writer.write(said)
            far_writer.close()

        async def back() -> None:
            nonlocal has_answered
            while said := await far_reader.read(1 << 16):
                has_answered = True
                writer.write(said)
            writer.close()

        with suppress(ConnectionError, asyncio.CancelledError):
            await asyncio.gather(forth(), back())


@contextmanager
def _relay(dsn: str) -> Iterator[Relay]:
    relay, ready = Relay(urlsplit(dsn).port or 5432), threading.Event()
    loop, over = asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(relay.serve(ready.set, over)), daemon=True)
    thread.start()
    ready.wait()
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join()


if __name__ == "__main__":
    main()
