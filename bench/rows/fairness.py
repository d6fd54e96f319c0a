"""From receipt to done for one handler: alone, and beside a thousand events of another one that hangs."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from bench import stores
from bench.rows import Row
from bench.stage import Stage
from landfast import Event, Inbox, Transaction
from landfast.app.stores import make_wakeup
from landfast.domain.delivery import Delivery, Identity
from landfast.ports import inbox as ports
from landfast.ports.wakeup import Wakeup

ALONE = "receipt to done, p99, nothing beside it, {}"
BESIDE = "receipt to done, p99, 1,000 events of another handler hang"
"""On PostgreSQL alone: on SQLite a handler that hangs holds the ledger's only writer, and everybody waits for it."""
HANGING = 1_000
DEADLINE = 5.0
"""Seconds that each of them hangs, each time that it is tried."""
RATE = 200
"""Events a second of the handler that is measured."""
SETTLES_WITHIN = 600.0
"""Only a run that hangs takes so long."""


async def rows(stage: Stage) -> list[Row]:
    on_postgres, on_sqlite = partial(stores.on_postgres, stage.postgres), partial(stores.on_sqlite, stage.folder)
    made = (
        (Row(ALONE.format("PostgreSQL"), "ms"), on_postgres, 0),
        (Row(ALONE.format("SQLite"), "ms"), on_sqlite, 0),
        (Row(BESIDE, "ms"), on_postgres, HANGING),
    )
    for number in range(stage.sizes.rounds):
        for row, opened, hanging in made:
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: {row.name}")
            async with opened() as store:
                waits = await run(store, stage.folder, count=int(RATE * stage.sizes.paced_seconds), hanging=hanging)
            row.values.append(percentile(waits, 99))
            row.detail = {
                "p50_ms": round(percentile(waits, 50), 1),
                "most_ms": round(waits[-1], 1),
                "events": len(waits),
            }
    return [row for row, *_ in made]


async def run(store: stores.Store, folder: Path, *, count: int, hanging: int = 0) -> list[float]:
    """Milliseconds from receipt to done of so many events, sorted."""
    inbox = _inbox(store, folder)
    await inbox.migrate()
    async with _intake(inbox) as intake, working(inbox):
        if hanging:
            await intake.record("hang", range(hanging))
        await asyncio.sleep(1.0)  # for the worker to listen, and for its hands to be full of them
        for number in range(count):
            await intake.record("quick", [number])
            await asyncio.sleep(1 / RATE)
        async with asyncio.timeout(SETTLES_WITHIN):
            while len(waits := await store.waits_until_done("quick")) < count:  # noqa: ASYNC110 - others are at work
                await asyncio.sleep(0.1)
    return waits


def _inbox(store: stores.Store, folder: Path) -> Inbox:
    nothing = folder / "none.toml"
    nothing.touch()
    inbox = Inbox(nothing, store=store.inbox, ledger=store.ledger)
    inbox.source("shop", provider="stripe", secrets=["whsec_of_no_interest_at_all"])

    @inbox.on("shop", "hang", deadline=DEADLINE)
    async def hang(_event: Event, _tx: Transaction) -> None:
        await asyncio.sleep(3600)

    @inbox.on("shop", "quick")
    async def quick(_event: Event, tx: Transaction) -> None:
        await tx.execute("SELECT 1")

    return inbox


@asynccontextmanager
async def working(inbox: Inbox) -> AsyncIterator[None]:
    async with inbox.worker() as worker:
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task


@dataclass(frozen=True, slots=True)
class _Intake:
    """What an intake process does with a delivery once it has verified it: it stores the event, and then it wakes the
    workers. Without the second half an idle worker finds the event at its next poll, and that is what is measured."""

    archive: ports.Inbox
    wakeup: Wakeup

    async def record(self, type_: str, numbers: Sequence[int]) -> None:
        now = datetime.now(UTC)
        made = [
            Delivery.of("shop", Identity(f"{type_}{number}", type_), received_at=now, headers=b"[]", body=b"{}")
            for number in numbers
        ]
        await self.archive.record(sorted(made, key=lambda delivery: delivery.event_id))
        self.wakeup.nudge()


@asynccontextmanager
async def _intake(inbox: Inbox) -> AsyncIterator[_Intake]:
    async with inbox.archive() as archive:
        wakeup = make_wakeup(inbox.settings.store, await archive.identity())
        await wakeup.open()
        try:
            yield _Intake(archive, wakeup)
        finally:
            await wakeup.close()


def percentile(values: Sequence[float], percent: int) -> float:
    """The smallest of the sorted values that so many of a hundred do not exceed: of 100 values, the 99th is p99."""
    return values[math.ceil(len(values) * percent / 100) - 1]
