"""PgQueuer: jobs in PostgreSQL, claimed ten at a time, one waiting for each event, dead workers' jobs taken over."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import asyncpg
import uvloop
from fastapi import FastAPI
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Queries

from bench.peers.programs import web
from bench.servers import guard

HANDS = 8
DSN = os.environ["BENCH_DSN"]


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(DSN, min_size=20, max_size=20) as pool:
        app.state.queries = Queries(AsyncpgPoolDriver(pool))
        yield


app = FastAPI(lifespan=lifespan)


async def hand_on(event: str, order: dict[str, Any]) -> None:
    payload = json.dumps(order).encode()
    await app.state.queries.enqueue("create_order", payload, dedupe_key=event, on_conflict="skip")


web.receive_at(app, hand_on)


async def _work() -> None:
    async with asyncpg.create_pool(DSN, min_size=HANDS, max_size=HANDS) as pool:
        queue = PgQueuer.from_asyncpg_pool(pool)

        @queue.entrypoint("create_order")
        async def create_order(job: Job) -> None:
            order = json.loads(job.payload or b"")
            values = (order["payment"], order["amount"], web.waited(order))
            await pool.execute(f"{web.INSERT} ($1, $2, $3)", *values)

        await queue.run(heartbeat_timeout=timedelta(seconds=10), max_concurrent_tasks=4 * HANDS)


async def _prepare() -> None:
    async with asyncpg.create_pool(DSN, min_size=1, max_size=1) as pool:
        await Queries(AsyncpgPoolDriver(pool)).install()


if __name__ == "__main__":
    if sys.argv[1:] == ["prepare"]:
        asyncio.run(_prepare())
    elif sys.argv[1:] == ["work"]:
        guard.end_with_our_parent()
        uvloop.run(_work())
    else:
        web.serve(app)
