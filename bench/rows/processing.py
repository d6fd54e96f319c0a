"""End to end: from the webhook to the committed order and the settled event."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial

from bench import load, machine, servers, stores
from bench.deliveries import Requests
from bench.load import CONNECTIONS
from bench.rows import Row
from bench.stage import Stage
from bench.stores import Store

BACKLOG = "a backlog processed, {}"
SUSTAINED = "end to end, sent and processed at once, {}"
WRITTEN = {BACKLOG: "a backlog processed, {}, with tx.write", SUSTAINED: "end to end, {}, with tx.write"}
WITH_WRITE = {"BENCH_WITH_WRITE": "1"}
NAIVE = "end to end, sent and processed at once, the naive handler and worker"
SETTLES_WITHIN = 300.0
LOOK_EVERY = 0.05

Opened = Callable[[], AbstractAsyncContextManager[Store]]
Runs = Callable[[Stage, Opened, Row, Mapping[str, str]], Awaitable[float]]


async def rows(stage: Stage) -> list[Row]:
    made = []
    for kind, opened in {
        "PostgreSQL": partial(stores.on_postgres, stage.postgres),
        "SQLite": partial(stores.on_sqlite, stage.folder),
    }.items():
        kinds: list[tuple[Row, Runs, Mapping[str, str]]] = []
        for name, runs in ((BACKLOG, _backlog), (SUSTAINED, _sustained)):
            kinds.append((Row(name.format(kind), "/s"), runs, {}))
            kinds.append((Row(WRITTEN[name].format(kind), "/s"), runs, WITH_WRITE))
        for number in range(stage.sizes.rounds):
            for row, run, settings in kinds:
                stage.say(f"round {number + 1} of {stage.sizes.rounds}: {row.name}")
                kept = await stage.undisturbed(partial(run, stage, opened, row, settings))
                row.values.append(kept.found)
                row.stolen.append(kept.stolen)
        made += [row for row, _, _ in kinds]
    naive = Row(NAIVE, "/s")
    for number in range(stage.sizes.rounds):
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: {naive.name}")
        kept = await stage.undisturbed(partial(_naive, stage, naive))
        naive.values.append(kept.found)
        naive.stolen.append(kept.stolen)
    return [*made, naive]


async def _naive(stage: Stage, row: Row) -> float:
    requests = stage.requests(stage.sizes.naive_requests // 2, "naive")
    async with stores.on_postgres(stage.postgres) as store:
        env = os.environ | {"BENCH_DSN": store.inbox}
        async with servers.running("naive", env=env) as handler, servers.running("naive_worker", env=env) as worker:
            used = machine.cpu_seconds(worker.pids()), machine.cpu_seconds(store.pids())
            began = time.monotonic()
            sent = await _send(requests, handler.port)
            await _until(lambda: _has_orders(store, sent))
            seconds = time.monotonic() - began
            spent = machine.cpu_seconds(worker.pids()), machine.cpu_seconds(store.pids())
            _note(row, sent, spent[0] - used[0], spent[1] - used[1])
    return sent / seconds


async def _backlog(stage: Stage, opened: Opened, row: Row, settings: Mapping[str, str]) -> float:
    """Take everything in first, then start a worker and see how long it needs."""
    async with opened() as store:
        async with stage.serving(store, workers=0) as serve:
            sent = await _send(_orders(stage), serve.port)
        async with stage.serving(store, workers=1, settings=settings) as serve:
            began = time.monotonic()
            worker = await serve.worker()
            used = machine.cpu_seconds([worker]), machine.cpu_seconds(store.pids())
            await _until(store.is_settled)
            seconds = time.monotonic() - began
            _note(row, sent, machine.cpu_seconds([worker]) - used[0], machine.cpu_seconds(store.pids()) - used[1])
        await _check(store, sent)
    return sent / seconds


async def _sustained(stage: Stage, opened: Opened, row: Row, settings: Mapping[str, str]) -> float:
    """Send at full speed while the worker works; from the first request to the last settled event."""
    async with opened() as store, stage.serving(store, workers=1, settings=settings) as serve:
        worker = await serve.worker()
        used = machine.cpu_seconds([worker]), machine.cpu_seconds(store.pids())
        began = time.monotonic()
        sent = await _send(_orders(stage), serve.port)
        row.detail["send_seconds"] = round(time.monotonic() - began, 2)
        await _until(store.is_settled)
        seconds = time.monotonic() - began
        _note(row, sent, machine.cpu_seconds([worker]) - used[0], machine.cpu_seconds(store.pids()) - used[1])
        await _check(store, sent)
    return sent / seconds


def _note(row: Row, sent: int, worker: float, store: float) -> None:
    each = {"worker": round(worker / sent * 1e6, 1), "store": round(store / sent * 1e6, 1)}
    row.detail |= {"cpu_microseconds_each": each, "events": sent}


def _orders(stage: Stage) -> Requests:
    return stage.requests(stage.sizes.backlog, "order")


async def _send(requests: Requests, port: int) -> int:
    # Our own client: it sends each exactly once, and so we know how many orders there must be.
    answered = await load.apply(load.load(requests, port, 120.0), "own")
    if answered.failed or answered.ok != requests.count:
        raise RuntimeError(f"{answered.failed} of {requests.count} deliveries over {CONNECTIONS} connections failed")
    return answered.ok


async def _until(is_done: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(SETTLES_WITHIN):
        while not await is_done():  # noqa: ASYNC110 - another process is at work
            await asyncio.sleep(LOOK_EVERY)


async def _has_orders(store: Store, count: int) -> bool:
    return await store.orders() >= count


async def _check(store: Store, sent: int) -> None:
    orders = await store.orders()
    if orders != sent:
        raise RuntimeError(f"{sent} events were acknowledged, and there are {orders} orders: this is worse than slow")
