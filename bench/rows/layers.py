"""What each layer gains, and what its absence costs: the shared cache, the spool, a second intake process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from bench import load, stores
from bench.rows import Row, from_runs
from bench.rows.latency import paced
from bench.stage import Kept, Measured, Stage
from tests.valkey import valkey

ALONE = "duplicates that another intake stored, the database alone"
CACHED = "duplicates that another intake stored, Valkey before it"
CACHE_DEAD = "ack p99 at half of the maximum, PostgreSQL, Valkey dead"
STORE_DOWN = "ack p99 at half of the maximum, PostgreSQL down, into the spool"
INTAKES = "acks of new events, PostgreSQL, {} intake processes"


async def rows(stage: Stage, maximum: float) -> list[Row]:
    """`maximum` is the acks per second that one intake did at most on PostgreSQL."""
    alone: list[Kept[Measured]] = []
    cached: list[Kept[Measured]] = []
    two: list[Kept[Measured]] = []
    dead, down = Row(CACHE_DEAD, "ms"), Row(STORE_DOWN, "ms")
    for number in range(stage.sizes.rounds):
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: duplicates with and without the shared cache")
        alone.append(await stage.undisturbed(partial(_duplicates, stage)))
        with valkey() as server:
            shared = {"LANDFAST_REDIS": server.address}
            cached.append(await stage.undisturbed(partial(_duplicates, stage, shared)))
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: acks at {maximum / 2:,.0f}/s, the cache dead")
        _note(dead, await stage.undisturbed(partial(_without_the_cache, stage, maximum / 2)))
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: acks at {maximum / 2:,.0f}/s, the database down")
        _note(down, await stage.undisturbed(partial(_without_the_store, stage, maximum / 2)))
        stage.say(f"round {number + 1} of {stage.sizes.rounds}: two intake processes")
        two.append(await stage.undisturbed(partial(_intakes, stage, 2)))
    return [from_runs(ALONE, alone), from_runs(CACHED, cached), dead, down, from_runs(INTAKES.format(2), two)]


def _note(row: Row, kept: Kept[load.Answered]) -> None:
    answered = kept.found
    row.values.append(answered.p99)
    row.stolen.append(kept.stolen)
    row.detail = {"answered": round(answered.per_second), "failed": answered.failed}


async def _duplicates(stage: Stage, settings: dict[str, str] | None = None) -> Measured:
    """One intake stores them, and another, which has nothing in its own memory, gets them again."""
    requests = stage.requests(stage.sizes.naive_requests * 2, "again")
    async with stores.on_postgres(stage.postgres) as store:
        async with stage.serving(store, workers=0, settings=settings or {}) as serve:
            await load.apply(load.load(requests, serve.port, 600.0), "own")
        async with stage.serving(store, workers=0, settings=settings or {}) as serve:
            pids = serve.pids("intake")
            what = load.load(requests, serve.port, stage.sizes.seconds)
            return await stage.measure(what, lambda: pids, store.pids)


async def _without_the_cache(stage: Stage, rate: float) -> load.Answered:
    async with stores.on_postgres(stage.postgres) as store:
        with valkey() as server:
            async with stage.serving(store, workers=0, settings={"LANDFAST_REDIS": server.address}) as serve:
                server.kill()
                return await paced(stage, serve.port, rate)


async def _without_the_store(stage: Stage, rate: float) -> load.Answered:
    async with (
        stores.on_postgres(stage.postgres) as store,
        _spool(stage) as spool,
        stage.serving(store, workers=0, settings={"LANDFAST_SPOOL": str(spool)}) as serve,
    ):
        stage.postgres.stop()
        try:
            return await paced(stage, serve.port, rate)
        finally:
            stage.postgres.start()


async def _intakes(stage: Stage, count: int) -> Measured:
    requests = stage.requests(stage.sizes.requests, "new")
    async with (
        stores.on_postgres(stage.postgres) as store,
        stage.serving(store, workers=0, intakes=count) as serve,
    ):
        pids = serve.pids("intake")
        return await stage.at_full_speed(requests, serve.port, lambda: pids, store.pids)


@asynccontextmanager
async def _spool(stage: Stage) -> AsyncIterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="landfast-bench-spool-", dir=stage.folder))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
