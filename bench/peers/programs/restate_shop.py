"""Restate: its server keeps the event under an idempotency key and calls the service back, whose one step writes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import restate
from fastapi import FastAPI
from hypercorn.asyncio import serve as hypercorn_serve
from hypercorn.config import Config

from bench.peers.programs import web
from bench.servers import guard

shop = restate.Service("Shop")
_pool: list[Any] = []


@shop.handler("order")
async def create_order(ctx: restate.Context, order: dict[str, Any]) -> None:
    async def write() -> None:
        await _pool[0].execute(f"{web.INSERT} ($1, $2, $3)", order["payment"], order["amount"], web.waited(order))

    await ctx.run_typed("write", write)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    limits = httpx.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx.AsyncClient(base_url=os.environ["BENCH_INGRESS"], limits=limits, timeout=30) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)


async def hand_on(event: str, order: dict[str, Any]) -> None:
    answer = await app.state.client.post("/Shop/order/send", json=order, headers={"idempotency-key": event})
    answer.raise_for_status()


web.receive_at(app, hand_on)


async def _work() -> None:
    config = Config()
    config.bind = [f"127.0.0.1:{os.environ['BENCH_SERVICE_PORT']}"]
    config.h2_max_concurrent_streams = 2147483647
    config.keep_alive_max_requests = 2147483647
    async with asyncpg.create_pool(os.environ["BENCH_DSN"], min_size=8, max_size=8) as pool:
        _pool[:] = [pool]
        await hypercorn_serve(restate.app([shop]), config)


if __name__ == "__main__":
    if sys.argv[1:] == ["work"]:
        guard.end_with_our_parent()
        asyncio.run(_work())
    else:
        web.serve(app)
