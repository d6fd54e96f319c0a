"""What a pooler costs: `python -m bench.pooled` measures inbox and ledger directly and behind PgBouncer, in turn.

PgBouncer in transaction mode and PostgreSQL are both on this machine, so a round trip costs what their processes do and
no network. Needs pgbouncer: apt-get install pgbouncer.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console

from landfast.app.system_clock import SystemChance, SystemClock
from landfast.domain.ids import HandlerName, ReceiptDigest
from landfast.domain.outcome import ReceiptKey
from landfast.inboxes.postgres import PostgresInbox
from landfast.ledgers.postgres import PostgresLedger
from landfast.testing.factory import delivery
from tests.pgbouncer import PgBouncer
from tests.servers import Postgres

BATCH = 50
ROUNDS = 5
WORK = 200
"""Batches, or transactions, in each round."""


async def main(work: int) -> None:
    server = Postgres(Path(tempfile.gettempdir()))
    pooler = PgBouncer(server)
    try:
        server.create()
        pooler.start()
        name = server.new_database()
        found = await _measure({"directly": server.dsn(name), "pooled": pooler.dsn(name)}, work)
        console = Console(highlight=False, soft_wrap=True)
        for what, ratios in found.items():
            console.print(f"{what}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    finally:
        pooler.destroy()
        server.destroy()


async def _measure(places: dict[str, str], work: int) -> dict[str, list[float]]:
    """How many times the direct connection's time each takes behind the pooler, in each round."""
    clock, chance = SystemClock(), SystemChance()
    ratios: dict[str, list[float]] = {}
    for _ in range(ROUNDS):
        took: dict[str, dict[str, float]] = {}
        for place, dsn in places.items():
            inbox = PostgresInbox(dsn, clock=clock, chance=chance)
            ledger = PostgresLedger(dsn, clock=clock, chance=chance)
            for store in (inbox, ledger):
                await store.open()
                await store.migrate()
            took[place] = await _timings(inbox, ledger, work)
            await inbox.close()
            await ledger.close()
        for what, direct in took["directly"].items():
            ratios.setdefault(what, []).append(took["pooled"][what] / direct)
    return ratios


async def _timings(inbox: PostgresInbox, ledger: PostgresLedger, work: int) -> dict[str, float]:
    return {
        "acknowledged, one at a time": await _timed(lambda: _record(inbox, 1), work),
        f"acknowledged, batches of {BATCH}": await _timed(lambda: _record(inbox, BATCH), work // 5),
        "a handler's transaction, one event": await _timed(lambda: _handle(ledger, 1), work),
        f"a handler's transaction, {BATCH} events": await _timed(lambda: _handle(ledger, BATCH), work // 5),
    }


async def _timed(job: Callable[[], Awaitable[None]], times: int) -> float:
    await job()
    began = time.perf_counter()
    for _ in range(times):
        await job()
    return time.perf_counter() - began


async def _record(inbox: PostgresInbox, size: int) -> None:
    await inbox.record([delivery(os.urandom(8).hex()) for _ in range(size)])


async def _handle(ledger: PostgresLedger, size: int) -> None:
    keys = [ReceiptKey(ReceiptDigest(os.urandom(16)), HandlerName("create_order"), 1) for _ in range(size)]
    tx = await ledger.begin(deadline=30)
    await tx.reserve(keys)
    for _ in keys:
        await (await tx.scope()).handle.execute("SELECT $1::text", "pay")
    await tx.commit(results=(), effects=())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else WORK))
