"""`python -m bench.herd`: a dependency is away for a minute while ten thousand events need it, and then comes back.

Each event has a single attempt: if one were counted, it would be a dead letter. The dependency notes when it was
called, and the busiest second is compared with the rate that it was given. Real workers on PostgreSQL and real time; or
with `--virtual` one worker on SQLite, and a clock that is moved in steps of a tenth of a second: then what is found
does not depend on how busy the machine is.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import click

from bench import machine
from bench.stores import DiskPostgres
from landfast.app import Inbox
from landfast.domain.delivery import Delivery, Identity
from landfast.domain.dependency import Dependency
from landfast.domain.event import Event
from landfast.domain.lifecycle import State
from tests.processing.shop import Shop

ANSWER_SECONDS = 0.005
BATCH = 500
STEP_SECONDS = 0.1


class Mailer:
    """What everything waits for."""

    def __init__(self, now: Callable[[], float] = time.monotonic, takes: float = ANSWER_SECONDS) -> None:
        self.is_away = True
        self.calls: list[float] = []
        self._now = now
        self._takes = takes

    async def send(self) -> None:
        self.calls.append(self._now())
        await asyncio.sleep(self._takes)
        if self.is_away:
            raise ConnectionRefusedError("away")


class Found(NamedTuple):
    """What became of the events, and of the dependency's rate."""

    probes: int
    """Calls while it was away."""
    took: float
    """Seconds from its return until all were done."""
    states: dict[str, int]
    first_seconds: list[int]
    busiest: int
    """Calls in the busiest second after its return."""
    calls: int


async def measure(dsn: str, *, events: int, outage: float, rate: float, workers: int) -> Found:
    mailer = Mailer()
    inboxes = [_inbox(dsn, mailer, rate) for _ in range(workers)]
    async with _running(inboxes), inboxes[0].archive() as archive:
        began = time.monotonic()
        await _deliver(archive, events)
        await asyncio.sleep(max(0.0, outage - (time.monotonic() - began)))
        probes = len(mailer.calls)
        mailer.is_away, back = False, time.monotonic()
        while (await archive.census()).states.get(State.DONE, 0) < events:  # noqa: ASYNC110 - another process counts
            await asyncio.sleep(0.25)
        took = time.monotonic() - back
        states = {state.value: count for state, count in (await archive.census()).states.items() if count}
    return _found(mailer, back, took, states, probes)


async def measure_virtually(folder: str, *, events: int, outage: float, rate: float) -> Found:
    shop = Shop("sqlite", folder)
    await shop.open()
    mailer = Mailer(shop.clock.monotonic, takes=0.0)
    shop.registry.add_dependency(Dependency("mailer", rate))

    @shop.on(attempts=1, uses=("mailer",))
    async def send_mail(event: Event, tx: Any) -> None:
        await mailer.send()
        await tx.execute("INSERT INTO orders (key) VALUES ($1)", event.key)

    worker = shop.worker()
    for first in range(0, events, BATCH):
        await shop.deliver(*(f"evt_{number}" for number in range(first, min(first + BATCH, events))))
        await worker.drain()
    while shop.clock.monotonic() < outage:
        await shop.advance(STEP_SECONDS)
        await worker.drain()
    probes, back, mailer.is_away = len(mailer.calls), shop.clock.monotonic(), False
    while (await shop.states()).get(State.DONE, 0) < events:
        await shop.advance(STEP_SECONDS)
        await worker.drain()
    states = {state.value: count for state, count in (await shop.states()).items()}
    await shop.close()
    took = shop.clock.monotonic() - back
    return _found(mailer, back, took, states, probes)


def _found(mailer: Mailer, back: float, took: float, states: dict[str, int], probes: int) -> Found:
    calls = [moment for moment in mailer.calls if moment >= back]
    busiest = max(bisect_left(calls, start + 1) - at for at, start in enumerate(calls))
    seconds = Counter(int(moment - calls[0]) for moment in calls)
    return Found(probes, took, states, [seconds[second] for second in range(10)], busiest, len(calls))


def _told(found: Found, *, events: int, rate: float) -> bool:
    click.echo(f"calls while it was away: {found.probes}")
    click.echo(f"after its return: {events:,} events done in {found.took:.1f} s; {found.states}")
    click.echo(f"first seconds: {found.first_seconds}")
    click.echo(f"busiest second: {found.busiest} calls, at a rate of {rate:g}; called {found.calls:,} times in all")
    return found.states == {"done": events} and found.busiest <= rate and found.took <= 60


def _inbox(dsn: str, mailer: Mailer, rate: float) -> Inbox:
    inbox = Inbox(store=dsn, ledger=dsn)
    inbox.source("shop", provider="standard-webhooks", secrets=["whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="])
    inbox.dependency("mailer", rate=rate)

    @inbox.on("shop", "*", attempts=1, uses=["mailer"])
    async def send_mail(event: Event, tx: Any) -> None:
        await mailer.send()
        await tx.execute("INSERT INTO mails (key) VALUES ($1)", event.key)

    return inbox


@asynccontextmanager
async def _running(inboxes: list[Inbox]) -> AsyncIterator[None]:
    async def run(inbox: Inbox, stop: asyncio.Event) -> None:
        async with inbox.worker() as worker:
            working = asyncio.create_task(worker.run())
            await stop.wait()
            worker.stop()
            await working

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as workers:
        for inbox in inboxes:
            workers.create_task(run(inbox, stop))
        try:
            yield
        finally:
            stop.set()


async def _deliver(archive: Any, events: int) -> None:
    for first in range(0, events, BATCH):
        made = [
            Delivery.of(
                "shop",
                Identity(f"evt_{number}", "order.created", entity=f"cus_{number % 97}"),
                received_at=datetime.now(UTC),
                headers=b'[["content-type","application/json"]]',
                body=b"{}",
            )
            for number in range(first, min(first + BATCH, events))
        ]
        await archive.record(sorted(made, key=lambda one: one.event_id))


async def _prepare(dsn: str) -> None:
    await Inbox(store=dsn, ledger=dsn).migrate()
    session = await asyncpg.connect(dsn)
    await session.execute("CREATE TABLE mails (key text PRIMARY KEY)")
    await session.close()


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m bench.herd", description=__doc__)
    asked.add_argument("--events", type=int, default=10_000)
    asked.add_argument("--outage", type=float, default=60.0, help="seconds")
    asked.add_argument("--rate", type=float, default=300.0, help="calls a second")
    asked.add_argument("--workers", type=int, default=2)
    asked.add_argument("--virtual", action="store_true", help="with a clock that is moved")
    given = asked.parse_args()
    click.echo(f"{machine.describe(Path(tempfile.gettempdir()))}, {datetime.now(UTC):%Y-%m-%d}")
    if given.virtual:
        sizes = {"events": given.events, "outage": given.outage, "rate": given.rate}
        with tempfile.TemporaryDirectory() as folder:
            found = asyncio.run(measure_virtually(folder, **sizes))
        return 0 if _told(found, events=given.events, rate=given.rate) else 1
    server = DiskPostgres()
    try:
        server.create()
        dsn = server.dsn(server.new_database())
        asyncio.run(_prepare(dsn))
        sizes = {"events": given.events, "outage": given.outage, "rate": given.rate, "workers": given.workers}
        found = asyncio.run(measure(dsn, **sizes))
        return 0 if _told(found, events=given.events, rate=given.rate) else 1
    finally:
        server.destroy()


if __name__ == "__main__":
    sys.exit(main())
