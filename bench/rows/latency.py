"""How long a sender waits at half load, and how soon a handler starts when nothing else is going on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial

from bench import deliveries, load, stores
from bench.rows import Row
from bench.stage import Stage
from landfast.demo.load import Connection

HALF = "ack {} at half of the maximum, {}"
IDLE = "webhook in to handler started, idle, p50, {}"
GAP = 0.03
"""Seconds between two events of an idle inbox: the last one is long done."""
ARRIVES_WITHIN = 30.0


async def rows(stage: Stage, maxima: dict[str, float]) -> list[Row]:
    """`maxima` are the acks per second that the machine did at most, by kind of store."""
    made = []
    for kind, opened in {
        "PostgreSQL": partial(stores.on_postgres, stage.postgres),
        "SQLite": partial(stores.on_sqlite, stage.folder),
    }.items():
        p50, p99 = Row(HALF.format("p50", kind), "ms"), Row(HALF.format("p99", kind), "ms")
        rate = maxima[kind] / 2
        for number in range(stage.sizes.rounds):
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: acks at {rate:,.0f}/s, {kind}")
            answered, stolen = await stage.undisturbed(partial(_at_half_load, stage, opened, rate))
            for row, value in ((p50, answered.p50), (p99, answered.p99)):
                row.values.append(value)
                row.stolen.append(stolen)
            p99.detail = {"rate": round(rate), "answered": round(answered.per_second), "failed": answered.failed}
        made += [p50, p99]
        stage.say(f"idle latency, {kind}")
        async with opened() as store, stage.serving(store, workers=1) as serve:
            await serve.worker()
            await _one_by_one(stage, serve.port)
            waits = await _waits(store, stage.sizes.idle_events)
        row = Row(IDLE.format(kind), "ms", [waits[len(waits) // 2] / 1e6])
        row.detail = {"p99_ms": round(waits[int(len(waits) * 0.99)] / 1e6, 2), "events": len(waits)}
        made.append(row)
    return made


async def _at_half_load(
    stage: Stage, opened: Callable[[], AbstractAsyncContextManager[stores.Store]], rate: float
) -> load.Answered:
    async with opened() as store, stage.serving(store, workers=0) as serve:
        return await paced(stage, serve.port, rate)


async def paced(stage: Stage, port: int, rate: float) -> load.Answered:
    count = int(rate * stage.sizes.paced_seconds) + 1
    requests = stage.requests(count + stage.sizes.warm, "paced")
    await load.apply(load.load(replace(requests, count=stage.sizes.warm), port, 2.0), "own")
    what = load.load(requests, port, stage.sizes.paced_seconds, skip=stage.sizes.warm, rate=rate)
    return await load.apply(what, "own")


async def _one_by_one(stage: Stage, port: int) -> None:
    connection = Connection(port)
    try:
        for number in range(stage.sizes.idle_events):
            await asyncio.sleep(GAP)
            sent = str(time.time_ns())
            status = await connection.send(deliveries.request(f"idle{number:09}", sent=sent))
            if status != 200:
                raise RuntimeError(f"an idle Landfast answered {status}")
    finally:
        connection.close()


async def _waits(store: stores.Store, events: int) -> list[int]:
    async with asyncio.timeout(ARRIVES_WITHIN):
        while len(waits := await store.waits()) < events:  # noqa: ASYNC110 - another process is at work
            await asyncio.sleep(0.05)
    return waits
