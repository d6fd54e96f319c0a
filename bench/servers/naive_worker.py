"""The worker beside the naive handler: one transaction for each event, in which the key, the order
and the new status are written together."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import asyncpg
import msgspec
import uvloop

from bench.servers import guard

HANDS = 8
"""Events in hand at once: more of them made it slower on two cores."""

IDLE = 0.02
"""Seconds until an idle hand looks again."""

TABLES = """
CREATE TABLE IF NOT EXISTS idempotency_keys (event_id text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now());
CREATE INDEX IF NOT EXISTS webhook_events_pending ON webhook_events (id) WHERE status = 'pending'
"""
NEXT = """SELECT id, event_id, body FROM webhook_events
WHERE status = 'pending' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"""
KEY = "INSERT INTO idempotency_keys (event_id) VALUES ($1) ON CONFLICT DO NOTHING RETURNING 1"
ORDER = "INSERT INTO orders (payment_id, amount, waited) VALUES ($1, $2, $3)"
DONE = "UPDATE webhook_events SET status = 'completed' WHERE id = $1"


async def _work() -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with asyncpg.create_pool(os.environ["BENCH_DSN"], min_size=HANDS, max_size=HANDS) as pool:
        await pool.execute(TABLES)
        hands = [asyncio.create_task(_hand(pool)) for _ in range(HANDS)]
        with guard.listener() as listening:
            guard.say(listening.getsockname()[1])  # nobody is served there: it says that the worker is up
            await stopping.wait()
        for hand in hands:
            hand.cancel()
        await asyncio.gather(*hands, return_exceptions=True)


async def _hand(pool: asyncpg.Pool[asyncpg.Record]) -> None:
    async with pool.acquire() as connection:
        while True:
            if not await _process_one(connection):
                await asyncio.sleep(IDLE)


async def _process_one(connection: Any) -> bool:
    async with connection.transaction():
        event = await connection.fetchrow(NEXT)
        if event is None:
            return False
        if await connection.fetchval(KEY, event["event_id"]):
            payment = msgspec.json.decode(event["body"])["data"]["object"]
            waited = time.time_ns() - int(payment["metadata"]["sent"])
            await connection.execute(ORDER, payment["id"], payment["amount"], waited)
        await connection.execute(DONE, event["id"])
    return True


if __name__ == "__main__":
    guard.end_with_our_parent()
    uvloop.run(_work())
