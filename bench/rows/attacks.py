"""What strangers who attack cost those who send as they should."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from bench import load, machine, stores
from bench.load.attack import WAYS, Attack
from bench.rows import Row
from bench.stage import ROOT, Stage

RATE = 500
"""Good requests a second."""
CALM = f"ack p99 at {RATE}/s before the attacks, SQLite"
UNDER = "ack p99 at {rate}/s under {kind} from {connections}, SQLite"
REFUSED = f"good requests that failed under all attacks, at {RATE}/s"
MEMORY = "memory of an attacked intake, peak"


def names(attackers: Sequence[int]) -> list[str]:
    return [_name(kind, connections) for kind in WAYS for connections in attackers]


async def rows(stage: Stage) -> list[Row]:
    calm, memory = Row(CALM, "ms"), Row(MEMORY, "MB")
    refused = 0
    made = {name: Row(name, "ms") for name in names(stage.sizes.attackers)}
    async with (
        stores.on_sqlite(stage.folder) as store,
        stage.serving(store, workers=0, app="attacked.py") as serve,
    ):
        await load.apply(load.load(stage.requests(stage.sizes.warm, "warm"), serve.port, 2.0), "own")
        for number in range(stage.sizes.rounds):
            stage.say(f"round {number + 1} of {stage.sizes.rounds}: calm, then {len(WAYS)} attacks")
            calm.values.append((await _paced(stage, serve.port, f"calm{number}")).p99)
            for kind in WAYS:
                for connections in stage.sizes.attackers:
                    row = made[_name(kind, connections)]
                    async with _attack(serve.port, kind, connections):
                        answered = await _paced(stage, serve.port, f"{kind}{connections}{number}")
                    row.values.append(answered.p99)
                    row.detail = {"answered": round(answered.per_second), "failed": answered.failed}
                    if answered.failed:
                        row.notes.append(f"{answered.failed} good requests failed")
                        refused += answered.failed
        peaks = [machine.peak_megabytes(pid) or 0.0 for pid in serve.pids("intake")]
        memory.values.append(max(peaks, default=0.0))
    return [calm, *made.values(), Row(REFUSED, "", [refused]), memory]


def _name(kind: str, connections: int) -> str:
    return UNDER.format(rate=RATE, kind=kind, connections=connections)


async def _paced(stage: Stage, port: int, name: str) -> load.Answered:
    requests = stage.requests(int(RATE * stage.sizes.paced_seconds) + 1, name.replace(" ", ""))
    return await load.apply(load.load(requests, port, stage.sizes.paced_seconds, rate=RATE), "own")


@asynccontextmanager
async def _attack(port: int, kind: str, connections: int) -> AsyncIterator[None]:
    asked = msgspec.json.encode(Attack(port=port, kind=kind, connections=connections)).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load.attack", asked, cwd=ROOT, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    try:
        assert process.stdout is not None
        if await process.stdout.readline() != b"open\n":
            raise RuntimeError("the attack could not begin")
        yield
        if process.returncode is not None:
            raise RuntimeError(f"the attack {kind!r} ended before the measurement did")
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
