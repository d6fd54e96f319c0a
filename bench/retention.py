"""`make bench-retention`, the PostgreSQL part: weekly passes over ten million events, and what others feel of them.

The clocks of inbox and ledger are moved from week to week. Each week is written by SQL, because it is the passes that
are measured: 98 of 100 events are done and have a receipt, one is a dead letter and one is unhandled. Then a pass
removes the week that is old enough, as a worker's would, while one client records, claims and settles. After the
measured windows it goes on without resting, and last the ledger forgets its oldest receipts. The audit is left out.
"""

from __future__ import annotations

import argparse
import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench import machine, stores
from bench.beside import Load, Passing, in_turn, in_windows, say, show_load, show_steps
from bench.retention_fill import CLOCKS, FILL, INDEXED_AGAIN, RECEIPTS, SIZES, UNINDEXED
from bench.stage import ROOT
from bench.stores import DiskPostgres
from landfast.app import Inbox
from landfast.app.retention import PASS_SHARE
from landfast.app.stores import Stores
from landfast.domain.expiry import LedgerAges
from landfast.domain.retention import DAY_SECONDS, Ages, Retention
from landfast.operations.ledger_retention import expire_ledger

if TYPE_CHECKING:
    from asyncpg import Connection, Record

WEEKS = 14
"""That 90 days come to, with the one that is being filled."""
WEEKS_OF_RECEIPTS = 5
"""Before those: the receipts of events that have left already."""
RETENTION = Retention(Ages(dead=90 * DAY_SECONDS))
"""Else the default ages. With dead letters for a year no receipt would go before the 58th week."""
HOLDER = b"benching"
EVERYTHING = 2**62
LASTING_SECONDS = 3600.0
FILL_SECONDS = 120.0
"""Of one turn."""

_CHEAPLY = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
"""While the first weeks are filled. If the machine falls over, the benchmark begins anew."""
_WAITS = "SELECT max(extract(epoch FROM clock_timestamp() - waitstart))::float8 FROM pg_locks WHERE NOT granted"


class Watch:
    """The longest that anybody was seen to wait for a lock, in seconds."""

    def __init__(self, connection: Connection[Record]) -> None:
        self._connection = connection
        self.longest = 0.0

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        self.longest = 0.0
        looking = asyncio.create_task(self._look())
        try:
            yield
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            self.longest = max(self.longest, await self._connection.fetchval(_WAITS) or 0.0)
            await asyncio.sleep(0.05)


class Bench:
    def __init__(self, stores_: Stores, filling: Connection[Record], watch: Watch, asked: argparse.Namespace) -> None:
        self.stores = stores_
        self.inbox = stores_.inbox
        self.filling = filling
        self.watch = watch
        self.asked = asked
        self.weekly = asked.events // WEEKS
        self.weeks = 0
        self.live = 0
        """Events that the client has recorded since the last week was filled: that week is smaller by as many."""

    async def fill(self) -> None:
        """The next week, and its end."""
        count = max(self.weekly - self.live, 1)
        self.live = 0
        inbox = self.stores.identity.hex()
        for statement in FILL:
            text = statement.format(week=self.weeks, count=count, size=self.asked.size, inbox=inbox)
            await self.filling.execute(text, timeout=LASTING_SECONDS)
        self.weeks += 1
        for clock in CLOCKS:
            await self.filling.execute(clock.format(days=7 * self.weeks))
        await self.inbox.prepare()  # type: ignore[attr-defined]  # of PostgreSQL
        say(f"filled week {self.weeks}")

    async def fill_receipts(self) -> None:
        """Of events that left before the first week."""
        for week in range(1, WEEKS_OF_RECEIPTS + 1):
            await self.filling.execute(RECEIPTS.format(week=week, count=self.weekly), timeout=LASTING_SECONDS)
            say(f"filled week {-week} of receipts")

    async def round(self) -> None:
        now = await self.filling.fetchval("SELECT landfast.clock()")
        without, beside, last = (Load(self.inbox, self.asked.size) for _ in range(3))
        without.number, last.number = without.number - 10**9, last.number - 2 * 10**9
        assert await self.inbox.take_retention_turn(HOLDER, every=0, lasting=LASTING_SECONDS)
        passing = Passing(lambda: self.inbox.retain(RETENTION, holder=HOLDER, proven=EVERYTHING), self.asked.share)
        asked = self.asked
        async with self.watch.looking():
            with in_turn(asked.turns):
                await in_windows(without, beside, passing, lambda: now, windows=asked.windows, seconds=asked.seconds)
            with in_turn(asked.turns):
                async with last.running(lambda: now):
                    await passing.go_on(LASTING_SECONDS, share=1.0)
        await self.inbox.end_retention_turn(HOLDER, is_complete=True)
        self.live += sum(load.recorded for load in (without, beside, last))
        say(f"  week {self.weeks}: {passing.events:,} events left, {sum(passing.took):.0f} s at work")
        show_steps(passing)
        say(f"    longest wait for a lock: {self.watch.longest * 1000:.0f} ms")
        show_load("without", without)
        show_load("beside", beside)
        if last.times:
            show_load("unrested", last)
        with in_turn(asked.turns):
            await self.forget_receipts(now)
        await self.show_sizes()

    async def forget_receipts(self, now: datetime) -> None:
        steps: list[float] = []
        at = time.perf_counter()

        async def rest() -> None:
            nonlocal at
            steps.append(time.perf_counter() - at)
            at = time.perf_counter()

        load = Load(self.inbox, self.asked.size)
        async with self.watch.looking(), load.running(lambda: now):
            gone = await expire_ledger(
                self.inbox,
                self.stores.ledger,
                identity=self.stores.identity,
                ages=LedgerAges(receipts=RETENTION.receipts),
                now=now,
                rest=rest,
            )
        self.live += load.recorded
        figures = f"p50 {statistics.median(steps) * 1000:.0f} ms, longest {max(steps) * 1000:.0f} ms"
        say(f"    ledger: {gone.receipts:,} receipts left in {len(steps):,} steps, {sum(steps):.0f} s; {figures}")
        say(f"    longest wait for a lock meanwhile: {self.watch.longest * 1000:.0f} ms")

    async def show_sizes(self) -> None:
        sizes = {row["name"]: row["size"] for row in await self.filling.fetch(SIZES)}
        rows = await self.filling.fetchval("SELECT count(*) FROM landfast.identity")
        census = await self.inbox.census()
        counted = sum(census.states.values())
        exact = "exact" if census.here == counted == rows else f"NOT EXACT: {census.here:,} here, {counted:,} counted"
        told = ", ".join(f"{name} {size / 2**20:,.0f} MB" for name, size in sizes.items())
        say(f"    {rows:,} events, {exact}; {told}")


async def measure(server: DiskPostgres, asked: argparse.Namespace) -> None:
    async with stores.on_postgres(server) as store:
        app = Inbox(store=store.inbox, ledger=store.ledger)
        await app.migrate()
        async with (
            app.stores() as opened,
            stores.connected(store.inbox) as filling,
            stores.connected(store.inbox) as looking,
        ):
            await filling.execute("SET synchronous_commit = off")
            bench = Bench(opened, filling, Watch(looking), asked)
            began = time.perf_counter()
            _set(server, {name: f"= {value}" for name, value in _CHEAPLY.items()})
            await _fill(bench, asked.turns)
            _set(server, dict.fromkeys(_CHEAPLY, "TO DEFAULT"))
            with in_turn(asked.turns):
                for statement in INDEXED_AGAIN:
                    await filling.execute(statement, timeout=LASTING_SECONDS)
                await filling.execute("VACUUM ANALYZE", timeout=LASTING_SECONDS)
                await filling.execute("CHECKPOINT", timeout=LASTING_SECONDS)
            say(f"PostgreSQL, {WEEKS} weeks of {bench.weekly:,} events, made in {time.perf_counter() - began:.0f} s")
            await bench.show_sizes()
            for _ in range(asked.rounds):
                with in_turn(asked.turns):
                    await bench.fill()
                await bench.round()


async def _fill(bench: Bench, turns: Path | None) -> None:
    """All weeks but those of the rounds, a few at each turn."""
    with in_turn(turns):
        for statement in UNINDEXED:
            await bench.filling.execute(statement)
        await bench.fill_receipts()
    while bench.weeks < WEEKS:
        with in_turn(turns):
            until = time.perf_counter() + FILL_SECONDS
            while bench.weeks < WEEKS and time.perf_counter() < until:
                await bench.fill()


def _set(server: DiskPostgres, settings: dict[str, str]) -> None:
    for name, value in settings.items():
        server.execute(f"ALTER SYSTEM SET {name} {value}")
    server.execute("SELECT pg_reload_conf()")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.retention", description=__doc__)
    parser.add_argument("--events", type=int, default=10_000_000, help="that are there when the first pass begins")
    parser.add_argument("--rounds", type=int, default=4, help="weeks, each with a pass")
    parser.add_argument("--size", type=int, default=400, help="bytes of a body")
    parser.add_argument(
        "--share", type=float, default=PASS_SHARE, help="of the time that a pass works, as a worker's does at first"
    )
    parser.add_argument("--windows", type=int, default=4, help="of each kind, with and without a pass, in turn")
    parser.add_argument(
        "--seconds", type=float, default=15, help="of one of them; the rest of the pass is not measured"
    )
    parser.add_argument(
        "--turns", type=Path, help="lock this file while filling and measuring: another benchmark does so, too"
    )
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-", dir=machine.on_disk(ROOT)))
    folder.chmod(0o755)
    server = DiskPostgres(folder)
    try:
        server.create()
        asyncio.run(measure(server, asked))
    finally:
        server.destroy()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
