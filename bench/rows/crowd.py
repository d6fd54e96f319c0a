"""What a crowd of slow connections costs those that send as they should."""

from __future__ import annotations

import asyncio
import resource
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from bench import load, stores
from bench.load.slow import Crowd
from bench.rows import Row
from bench.stage import ROOT, Stage

RATE = 1_000
"""Requests a second: a busy sender, and far from what the server can do."""
SLOW = 2_000
ALONE = f"ack p99 at {RATE:,}/s, SQLite"
AMONG = f"ack p99 at {RATE:,}/s among {SLOW:,} slow connections, SQLite"


async def rows(stage: Stage) -> list[Row]:
    alone, among = Row(ALONE, "ms"), Row(AMONG, "ms")
    _raise_descriptors()
    for number in range(stage.sizes.rounds):
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: alone, then among {SLOW:,} slow connections")
        async with stores.on_sqlite(stage.folder) as store, stage.serving(store, workers=0) as serve:
            await load.apply(load.load(stage.requests(stage.sizes.warm, "warm"), serve.port, 2.0), "own")
            alone.values.append((await _paced(stage, serve.port, f"alone{number}")).p99)
            async with _crowd(serve.port):
                answered = await _paced(stage, serve.port, f"among{number}")
        among.values.append(answered.p99)
        among.detail = {"rate": RATE, "answered": round(answered.per_second), "failed": answered.failed}
    return [alone, among]


async def _paced(stage: Stage, port: int, name: str) -> load.Answered:
    requests = stage.requests(int(RATE * stage.sizes.paced_seconds) + 1, name)
    return await load.apply(load.load(requests, port, stage.sizes.paced_seconds, rate=RATE), "own")


@asynccontextmanager
async def _crowd(port: int) -> AsyncIterator[None]:
    """They are there when this begins, and the server ends them in the last second or two of a full run."""
    asked = msgspec.json.encode(Crowd(port=port, count=SLOW)).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load.slow", asked, cwd=ROOT, stdin=DEVNULL, stdout=PIPE
    )
    try:
        assert process.stdout is not None
        if await process.stdout.readline() != b"open\n":
            raise RuntimeError("the slow connections could not be opened")
        yield
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


def _raise_descriptors() -> None:
    """Every connection needs one, here and in the server, which inherits ours."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
