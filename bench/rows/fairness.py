"""From receipt to done for one handler: alone, and beside a thousand events of another one that hangs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from bench import stores
from bench.rows import Row
from bench.stage import Stage
from landfast import Event, Inbox, Transaction
from landfast.app.stores import InboxStore
from landfast.domain.delivery import Delivery, Identity

ALONE = "receipt to done, p99, nothing beside it"
BESIDE = "receipt to done, p99, 1,000 events of another handler hang"
HANGING = 1_000
DEADLINE = 5.0
"""Seconds that each of them hangs, each time that it is tried."""
RATE = 200
"""Events a second of the handler that is measured."""
SETTLES_WITHIN = 60.0

_WAITS = """
SELECT extract(epoch FROM h.at - h.received_at) * 1000 AS waited
FROM landfast.history AS h JOIN landfast.body AS b USING (received_at, event_id)
WHERE h.state = 'done' AND b.type = 'quick' ORDER BY waited
"""


async def rows(stage: Stage) -> list[Row]:
    alone, beside = Row(ALONE, "ms"), Row(BESIDE, "ms")
    for number in range(stage.sizes.rounds):
        for row, hanging in ((alone, 0), (beside, HANGING)):
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: {row.name}")
            waits = await _run(stage, hanging)
            row.values.append(waits[int(len(waits) * 0.99)])
            row.detail = {
                "p50_ms": round(waits[len(waits) // 2], 1),
                "most_ms": round(waits[-1], 1),
                "events": len(waits),
            }
    return [alone, beside]


async def _run(stage: Stage, hanging: int) -> list[float]:
    count = max(100, int(RATE * stage.sizes.paced_seconds))
    async with stores.on_postgres(stage.postgres) as store:
        inbox = _inbox(store, stage.folder)
        await inbox.migrate()
        async with inbox.archive() as archive, _working(inbox), stores.connected(store.inbox) as connection:
            await _record(archive, "hang", range(hanging))
            await asyncio.sleep(1.0)  # for the hands to be full of them
            for number in range(count):
                await _record(archive, "quick", [number])
                await asyncio.sleep(1 / RATE)
            async with asyncio.timeout(SETTLES_WITHIN):
                while len(waits := await connection.fetch(_WAITS)) < count:  # noqa: ASYNC110 - others are at work
                    await asyncio.sleep(0.1)
    return [float(row["waited"]) for row in waits]


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
async def _working(inbox: Inbox) -> AsyncIterator[None]:
    async with inbox.worker() as worker:
        task = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await task


async def _record(archive: InboxStore, type_: str, numbers: Sequence[int]) -> None:
    now = datetime.now(UTC)
    made = [
        Delivery.of("shop", Identity(f"{type_}{number}", type_), received_at=now, headers=b"[]", body=b"{}")
        for number in numbers
    ]
    if made:
        await archive.record(sorted(made, key=lambda delivery: delivery.event_id))
