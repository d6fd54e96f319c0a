"""Events through a real PostgreSQL, from record to done, and what is left of them: rows, index pages, WAL."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from landfast.app.stores import Stores, open_stores
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.config import load
from landfast.domain.delivery import Delivery
from landfast.domain.ids import HandlerName, WorkerId, receipt_digest, token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Attempt, Claim, ReceiptKey, Settlement
from simulations.samples import deliveries
from tests.servers import Postgres

EVENTS = 20_000
BATCH = 64
"""Events of one COMMIT at intake, and of one transaction of a worker: what 64 connections make of it under load."""

BEHIND = 2_000_000
"""Identities and receipts that are there already when the full-page images are counted: their indexes must have far
more pages than the events of that run touch."""

AFTER_A_CHECKPOINT = 5_000

TOLD_WITHIN = 11.0
"""Seconds: an idle backend reports what it counted after ten."""

HANDLER = HandlerName("create_order")
ORDERS = "CREATE TABLE orders (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payment_id TEXT, amount INTEGER)"
TABLES = {
    "identity": "landfast.identity",
    "body": "landfast.body",
    "history": "landfast.history",
    "receipt": "landfast_ledger.receipt",
}
_FILL = """
INSERT INTO landfast.identity (event_id, received_at)
SELECT decode(md5('behind' || n), 'hex'), now() FROM generate_series(1, {count}) AS n;
INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome)
SELECT decode(md5('receipt' || n), 'hex'), '{handler}', 1, 'done'
FROM generate_series(1, {count}) AS n
"""
_SIZE = """
SELECT (pg_total_relation_size($1::regclass) + coalesce(sum(pg_total_relation_size(relid)), 0))::bigint
FROM pg_partition_tree($1::regclass) WHERE isleaf
"""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Bench:
    stores: Stores
    db: asyncpg.Connection[asyncpg.Record]


async def measure_postgres(say: Say) -> dict[str, Any]:
    say("PostgreSQL: starting")
    async with _bench() as bench:
        await _through(bench, deliveries("warm", 2_000))
        say(f"PostgreSQL: {EVENTS:,} events from record to done")
        fresh = await _fresh(bench)
        say(f"PostgreSQL: {BEHIND:,} identities and receipts behind them")
        return {"events": EVENTS, "batch": BATCH, **fresh, "at_scale": await _at_scale(bench)}


async def _fresh(bench: Bench) -> dict[str, Any]:
    """Rows and WAL without full-page images: nothing that is touched is older than the last checkpoint."""
    before = {name: await _size(bench, table) for name, table in TABLES.items()}
    start, images = await _wal_bytes(bench), await _page_images(bench)
    await _record(bench, deliveries("fresh", EVENTS))
    recorded = await _wal_bytes(bench)
    hot = await _size(bench, "landfast.work")
    await _process(bench)
    processed = await _wal_bytes(bench)
    after = {name: await _size(bench, table) for name, table in TABLES.items()}
    return {
        "bytes": {name: round((after[name] - before[name]) / EVENTS, 1) for name in TABLES},
        "hot_bytes": round(hot / EVENTS, 1),
        "wal_bytes": {
            "record": round((recorded - start) / EVENTS, 1),
            "process": round((processed - recorded) / EVENTS, 1),
        },
        "page_images": await _page_images(bench) - images,
    }


async def _at_scale(bench: Bench) -> dict[str, Any]:
    """Index pages of digests that came in random order, and the images that the first touch of each one costs."""
    await bench.db.execute(_FILL.format(count=BEHIND, handler=HANDLER), timeout=300)
    rows = await bench.db.fetchval("SELECT count(*) FROM landfast.identity")
    found: dict[str, Any] = {
        "identity_bytes": round(await _size(bench, TABLES["identity"]) / rows, 1),
        "receipt_bytes": round(await _size(bench, TABLES["receipt"]) / rows, 1),
        "identities": rows,
        "index_pages": {
            "identity": await bench.db.fetchval("SELECT pg_relation_size('landfast.identity_pkey') / 8192"),
            "receipt": await bench.db.fetchval("SELECT pg_relation_size('landfast_ledger.receipt_pkey') / 8192"),
        },
        "events": AFTER_A_CHECKPOINT,
    }
    for name, setting in (("plain", "off"), ("compressed", "on")):
        await bench.db.execute(f"ALTER SYSTEM SET wal_compression = '{setting}'")
        await bench.db.execute("SELECT pg_reload_conf()")
        await bench.db.execute("CHECKPOINT", timeout=300)
        start, images = await _wal_bytes(bench), await _page_images(bench)
        await _through(bench, deliveries(name, AFTER_A_CHECKPOINT))
        wal = await _wal_bytes(bench) - start
        found[name] = {
            "wal_bytes": round(wal / AFTER_A_CHECKPOINT, 1),
            "page_images": await _page_images(bench) - images,
        }
    return found


async def _through(bench: Bench, events: Sequence[Delivery]) -> None:
    await _record(bench, events)
    await _process(bench)


async def _record(bench: Bench, events: Sequence[Delivery]) -> None:
    for start in range(0, len(events), BATCH):
        # As intake does: a batch is whoever came, sorted among themselves.
        await bench.stores.inbox.record(sorted(events[start : start + BATCH], key=lambda event: event.event_id))


async def _process(bench: Bench) -> None:
    """Receipts, one business INSERT for each event, one COMMIT for the group; then it is settled."""
    number = 0
    inbox, ledger = bench.stores.inbox, bench.stores.ledger
    while claims := await inbox.claim(token=token(WorkerId(b"measure!"), number), lease=300, limit=BATCH):
        number += 1
        transaction = await ledger.begin(deadline=60)
        await transaction.reserve([_receipt(bench, claim) for claim in claims])
        scope = await transaction.scope()
        for claim in claims:
            await scope.handle.execute("INSERT INTO orders (payment_id, amount) VALUES ($1, 8999)", claim.entity)
        await transaction.commit(results=[], effects=[])
        await inbox.settle([_done(claim) for claim in claims])


def _receipt(bench: Bench, claim: Claim) -> ReceiptKey:
    return ReceiptKey(receipt_digest(bench.stores.identity, claim.source, claim.key), HANDLER, claim.run)


def _done(claim: Claim) -> Settlement:
    attempt = Attempt(handler=HANDLER, number=1, outcome="done", milliseconds=0.412)
    return Settlement(claim.event_id, claim.run, claim.token, Signal.FINISH, attempts=(attempt,))


async def _wal_bytes(bench: Bench) -> int:
    """All that was ever written."""
    place: int = await bench.db.fetchval("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint")
    return place


async def _page_images(bench: Bench) -> int:
    await asyncio.sleep(TOLD_WITHIN)
    images: int = await bench.db.fetchval("SELECT wal_fpi FROM pg_stat_wal")
    return images


async def _size(bench: Bench, table: str) -> int:
    size: int = await bench.db.fetchval(_SIZE, table)
    return size


@asynccontextmanager
async def _bench() -> AsyncIterator[Bench]:
    server = Postgres()
    try:
        server.create()
        dsn = server.dsn(server.new_database())
        with tempfile.TemporaryDirectory(prefix="landfast-measure-") as folder:
            nothing = Path(folder) / "none.toml"
            nothing.touch()
            settings = load(nothing, environ={}, overrides={"store": dsn, "ledger": dsn})
            async with open_stores(settings, SystemClock(), SystemChance(), migrate=True) as stores:
                db = await asyncpg.connect(dsn)
                try:
                    await db.execute(ORDERS)
                    yield Bench(stores, db)
                finally:
                    await db.close()
    finally:
        server.destroy()
