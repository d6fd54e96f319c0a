"""How long a proof takes on many finished events: `python -m bench.proof [EVENTS]`, 10 million unless told.

The rows are made by the server itself, in the tables that Landfast uses, as one handler would have left them: identity,
body, a line of history and a receipt each. It takes about 1 KB of disk an event, and is no part of `make test`.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from rich.console import Console

from bench.machine import describe
from bench.stores import DiskPostgres
from landfast.app.system_clock import SystemChance, SystemClock
from landfast.inboxes.postgres import PostgresInbox
from landfast.ledgers.postgres import PostgresLedger
from landfast.recovery.proof import Proof, prove

EVENTS = 10_000_000
AT_ONCE = 500_000
"""Events made in one statement."""

MAKE_DIGESTS = """
CREATE FUNCTION pg_temp.framed(part bytea) RETURNS bytea IMMUTABLE LANGUAGE sql AS
    $$ SELECT int4send(length(part)) || part $$;
"""
MAKE = """
WITH made AS MATERIALIZED (
    SELECT
        'evt_' || n AS key,
        substr(sha256(pg_temp.framed('shop') || pg_temp.framed(convert_to('evt_' || n, 'UTF8'))), 1, 16) AS event_id,
        substr(sha256(
            pg_temp.framed($3) || pg_temp.framed('shop') || pg_temp.framed(convert_to('evt_' || n, 'UTF8'))
        ), 1, 16) AS digest,
        landfast.clock() - interval '14 days' + n * interval '14 days' / $4::integer AS received_at
    FROM generate_series($1::integer, $2::integer) AS n
),
identities AS (INSERT INTO landfast.identity (event_id, received_at) SELECT event_id, received_at FROM made),
bodies AS (
    INSERT INTO landfast.body (received_at, event_id, source, key, type, headers, body)
    SELECT received_at, event_id, 'shop', key, 'order.created', '[]', convert_to('{"id":"' || key || '"}', 'UTF8')
    FROM made
),
lines AS (
    INSERT INTO landfast.history (received_at, event_id, at, run, forced, signal, state, handlers)
    SELECT received_at, event_id, received_at, 1, false, 'finish', 'done', 'create_order' FROM made
)
INSERT INTO landfast_ledger.receipt (digest, handler, run, outcome) SELECT digest, 'create_order', 1, 'done' FROM made
"""
COUNT = """
INSERT INTO landfast.total (name, source, value) VALUES ('recorded', '', $1)
ON CONFLICT (name, source) DO UPDATE SET value = EXCLUDED.value
"""
LONGEST = """
SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)
FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_xmin IS NOT NULL AND backend_type = 'client backend'
"""

_console = Console(highlight=False, soft_wrap=True)


def _say(line: str) -> None:
    _console.print(line)


async def main(events: int) -> None:
    folder = Path(tempfile.gettempdir())
    server = DiskPostgres(folder)
    try:
        server.create()
        _say(str(describe(folder)))
        await _measure(server.dsn(server.new_database()), events)
    finally:
        server.destroy()


async def _measure(dsn: str, events: int) -> None:
    inbox = PostgresInbox(dsn, clock=SystemClock(), chance=SystemChance())
    ledger = PostgresLedger(dsn, clock=SystemClock(), chance=SystemChance())
    for store in (inbox, ledger):
        await store.open()
        await store.migrate()
    began = time.monotonic()
    await _make(dsn, await inbox.identity(), events)
    _say(f"{events:,} finished events made in {time.monotonic() - began:.0f} s")
    for name, full in (("first walk", False), ("second proof", False), ("third proof", False), ("--full", True)):
        began = time.monotonic()
        async with _watched(dsn) as snapshots:
            proof: Proof = await prove(inbox, ledger, clock=SystemClock(), chance=SystemChance(), full=full)
        assert proof.holds, [f"{each} {each.note}" for each in proof.equations]
        took, longest = time.monotonic() - began, max(snapshots, default=0.0)
        _say(f"{name}: {took:.2f} s, {proof.audit.looked_at:,} asked for, longest snapshot {longest:.2f} s")
    for store in (inbox, ledger):
        await store.close()


async def _make(dsn: str, inbox: bytes, events: int) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(MAKE_DIGESTS)
        for first in range(1, events + 1, AT_ONCE):
            last = min(first + AT_ONCE - 1, events)
            await connection.execute(MAKE, first, last, inbox, events)
            _say(f"  {last:,}")
        await connection.execute(COUNT, events)
    finally:
        await connection.close()


@asynccontextmanager
async def _watched(dsn: str) -> AsyncIterator[list[float]]:
    """The longest transaction that held a snapshot, looked for 20 times a second."""
    found: list[float] = []
    connection = await asyncpg.connect(dsn)

    async def watch() -> None:
        while True:
            found.append(float(await connection.fetchval(LONGEST)))
            await asyncio.sleep(0.05)

    watching = asyncio.create_task(watch())
    try:
        yield found
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await connection.close()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else EVENTS))
