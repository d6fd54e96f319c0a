"""Answers per second at full speed: the yardstick, our empty protocol, the naive handler, Landfast."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from types import MappingProxyType

from bench import load, machine, servers, stores
from bench.rows import Row, from_runs
from bench.stage import Kept, Measured, Stage
from bench.stores import Store
from landfast.sealing.master import new_master

YARDSTICK = "no-op POST, granian RSGI (the yardstick)"
NOOP = "no-op POST, our own protocol"
NAIVE = "the naive handler, PostgreSQL"
POSTGRES = "acks of new events, PostgreSQL"
SQLITE = "acks of new events, SQLite"
SEALED = "acks of new events, sealed, {}"
STORM = "acks of one event again and again (the storm)"
MEMORY = "memory of intake at full load"

Run = Callable[[], Awaitable[Measured]]


async def rows(stage: Stage) -> list[Row]:
    peaks: list[float] = []
    on_postgres = partial(stores.on_postgres, stage.postgres)
    kinds: dict[str, Run] = {
        YARDSTICK: partial(_empty, stage, "yardstick"),
        NOOP: partial(_empty, stage, "noop"),
        NAIVE: partial(_naive, stage),
        POSTGRES: partial(landfast, stage, on_postgres, peaks),
        SQLITE: partial(landfast, stage, partial(stores.on_sqlite, stage.folder), peaks),
        SEALED.format("PostgreSQL"): partial(landfast, stage, on_postgres, peaks, settings=_seal()),
        SEALED.format("SQLite"): partial(
            landfast, stage, partial(stores.on_sqlite, stage.folder), peaks, settings=_seal()
        ),
        STORM: partial(landfast, stage, on_postgres, peaks, is_storm=True),
    }
    missing = [] if importlib.util.find_spec("granian") else [YARDSTICK]
    runs: dict[str, list[Kept[Measured]]] = {name: [] for name in kinds}
    for number in range(stage.sizes.rounds):
        for name in [name for name in kinds if name not in missing]:
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: {name}")
            runs[name].append(await stage.undisturbed(kinds[name]))
    made = [from_runs(name, measured) for name, measured in runs.items()]
    if missing:
        made[0].notes.append("granian is not installed: make bench installs it")
    return [*made, Row(MEMORY, "MB", [max(peaks)] if peaks else [])]


def _seal() -> Mapping[str, str]:
    return {"LANDFAST_SEAL": "env:BENCH_MASTER_KEY", "BENCH_MASTER_KEY": new_master()}


async def _empty(stage: Stage, module: str) -> Measured:
    requests = stage.requests(max(100, stage.sizes.requests // 20), "empty")
    async with servers.running(module, env=os.environ) as server:
        await load.apply(load.load(requests, server.port, min(1.0, stage.sizes.seconds)), "own")
        what = load.load(requests, server.port, stage.sizes.seconds, cycles=True)
        return await stage.measure(what, server.pids, list)


async def _naive(stage: Stage) -> Measured:
    requests = stage.requests(stage.sizes.naive_requests, "naive")
    async with (
        stores.on_postgres(stage.postgres) as store,
        servers.running("naive", env=os.environ | {"BENCH_DSN": store.inbox}) as server,
    ):
        return await stage.at_full_speed(requests, server.port, server.pids, store.pids)


async def landfast(
    stage: Stage,
    opened: Callable[[], AbstractAsyncContextManager[Store]],
    peaks: list[float],
    *,
    is_storm: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Measured:
    """The real command with one intake process and no worker."""
    requests = stage.requests(1 if is_storm else stage.sizes.requests, "new")
    async with opened() as store, stage.serving(store, workers=0, settings=settings) as serve:
        (intake,) = serve.pids("intake")
        if is_storm:
            await load.apply(load.load(requests, serve.port, min(1.0, stage.sizes.seconds), cycles=True), "own")
            what = load.load(requests, serve.port, stage.sizes.seconds, cycles=True)
            measured = await stage.measure(what, lambda: [intake], store.pids)
        else:
            measured = await stage.at_full_speed(requests, serve.port, lambda: [intake], store.pids)
        peak = machine.peak_megabytes(intake)
        if peak is not None:
            peaks.append(peak)
        return measured
