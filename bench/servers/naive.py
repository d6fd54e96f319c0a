"""The naive handler, written as well as its pattern allows: FastAPI under uvicorn, an asyncpg pool, the
signature checked, one INSERT and one COMMIT for each request, and then the answer."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import msgspec
import uvicorn
from fastapi import FastAPI, Request, Response

from bench.deliveries import verified
from bench.servers import guard

POOL = 20
"""Connections: more of them made it slower on two cores, fewer too."""

TABLE = """CREATE TABLE IF NOT EXISTS webhook_events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id text NOT NULL UNIQUE,
    type text NOT NULL,
    body jsonb NOT NULL,
    status text NOT NULL DEFAULT 'pending',
    received_at timestamptz NOT NULL DEFAULT now()
)"""
INSERT = "INSERT INTO webhook_events (event_id, type, body) VALUES ($1, $2, $3) ON CONFLICT (event_id) DO NOTHING"
_STORED = b'{"status":"stored"}'


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["BENCH_DSN"], min_size=POOL, max_size=POOL) as pool:
        await pool.execute(TABLE)
        app.state.pool = pool
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/in/stripe")
async def receive(request: Request) -> Response:
    body = await request.body()
    if not verified(request.headers.get("stripe-signature", ""), body):
        return Response(status_code=401)
    event: dict[str, Any] = msgspec.json.decode(body)
    await request.app.state.pool.execute(INSERT, event["id"], event["type"], body.decode())
    return Response(_STORED, media_type="application/json")


def main() -> None:
    guard.end_with_our_parent()
    listening = guard.listener(guard.chosen_port())
    guard.say(listening.getsockname()[1])
    config = uvicorn.Config(app, loop="uvloop", http="httptools", log_level="error", access_log=False)
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
