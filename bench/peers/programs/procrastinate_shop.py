"""procrastinate: jobs in PostgreSQL, one waiting at a time for each event, stalled ones tried again every minute."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import procrastinate
from fastapi import FastAPI
from procrastinate.exceptions import AlreadyEnqueued
from psycopg_pool import AsyncConnectionPool

from bench.peers.programs import web
from bench.servers import guard

HANDS = 8
DSN = os.environ["BENCH_DSN"]
jobs = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=DSN, min_size=HANDS, max_size=2 * HANDS))
pool = AsyncConnectionPool(DSN, min_size=HANDS, max_size=HANDS, open=False, kwargs={"autocommit": True})


@jobs.task(name="create_order", retry=10)
async def create_order(order: dict[str, Any]) -> None:
    async with pool.connection() as connection:
        values = (order["payment"], order["amount"], web.waited(order))
        await connection.execute(f"{web.INSERT} (%s, %s, %s)", values)


@jobs.periodic(cron="* * * * *")
@jobs.task(name="retry_stalled", queueing_lock="retry_stalled")
async def retry_stalled(timestamp: int) -> None:  # noqa: ARG001 - a periodic task is given one
    for job in await jobs.job_manager.get_stalled_jobs():
        await jobs.job_manager.retry_job(job)


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[None]:
    async with jobs.open_async():
        yield


app = FastAPI(lifespan=lifespan)


async def hand_on(event: str, order: dict[str, Any]) -> None:
    with suppress(AlreadyEnqueued):
        await create_order.configure(queueing_lock=event).defer_async(order=order)


web.receive_at(app, hand_on)


async def _work() -> None:
    async with jobs.open_async(), pool:
        await jobs.run_worker_async(concurrency=HANDS)


async def _prepare() -> None:
    async with jobs.open_async():
        await jobs.schema_manager.apply_schema_async()


if __name__ == "__main__":
    if sys.argv[1:] == ["prepare"]:
        asyncio.run(_prepare())
    elif sys.argv[1:] == ["work"]:
        guard.end_with_our_parent()
        asyncio.run(_work())
    else:
        web.serve(app)
