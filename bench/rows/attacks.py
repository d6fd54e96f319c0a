"""What strangers who attack cost those who send as they should."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from bench import load, machine, servers, stores
from bench.load.attack import WAYS, Attack, Done
from bench.rows import Row
from bench.stage import ROOT, Kept, Stage

RATE = 500
"""Good requests a second."""
CALM = f"ack p99 at {RATE}/s before the attacks, SQLite"
UNDER = "ack p99 at {rate}/s under {kind} from {connections}, SQLite"
REFUSED = f"good requests that failed under all attacks, at {RATE}/s"
MEMORY = "memory of an attacked intake, peak"
FLOOR = f"p99 at {RATE}/s of a server that hangs up on strangers, the worst of all attacks"
FLOOR_CALM = f"p99 at {RATE}/s of the same server before the attacks"

_runs = itertools.count()
"""Each run has events of its own: one that is repeated brings no duplicates."""


def names(attackers: Sequence[int]) -> list[str]:
    return [_name(kind, connections) for kind in WAYS for connections in attackers]


async def rows(stage: Stage) -> list[Row]:
    calm, memory = Row(CALM, "ms"), Row(MEMORY, "MB")
    made = {name: Row(name, "ms") for name in names(stage.sizes.attackers)}
    async with (
        stores.on_sqlite(stage.folder) as store,
        stage.serving(store, workers=0, app="attacked.py") as serve,
    ):
        await load.apply(load.load(stage.requests(stage.sizes.warm, "warm"), serve.port, 2.0), "own")
        for number in range(stage.sizes.rounds):
            title = f"round {number + 1} of {stage.sizes.rounds}"
            await _round(stage, serve.port, title, calm, lambda *what: made[_name(*what)])
        peaks = [machine.peak_megabytes(pid) or 0.0 for pid in serve.pids("intake")]
        memory.values.append(max(peaks, default=0.0))
    refused = sum(row.detail.get("failed", 0) for row in made.values())
    return [calm, *made.values(), Row(REFUSED, "", [refused]), memory, *await _floor(stage)]


async def _floor(stage: Stage) -> list[Row]:
    """What of it is the machine's: a server that does nothing for good requests, and less for strangers."""
    calm, worst = Row(FLOOR_CALM, "ms"), Row(FLOOR, "ms")
    async with servers.running("bare", env=os.environ) as bare:
        by_attack: dict[str, Row] = {}
        title = "a server that hangs up on strangers"
        await _round(stage, bare.port, title, calm, lambda *what: by_attack.setdefault(_name(*what), Row("", "ms")))
    found = {name: row.value or 0.0 for name, row in by_attack.items()}
    worst.values.append(max(found.values(), default=0.0))
    worst.detail = {name: round(value, 2) for name, value in found.items()}
    return [calm, worst]


async def _round(stage: Stage, port: int, title: str, calm: Row, row_of: Callable[[str, int], Row]) -> None:
    """Each is told as it ends: a run that takes minutes and says nothing looks like one that hangs."""
    name = "".join(filter(str.isalnum, title))
    _note(calm, await stage.undisturbed(partial(_paced, stage, port, f"calm{name}")), Done())
    stage.say(f"{title}: calm {calm.values[-1]:.1f} ms")
    attacks = list(itertools.product(WAYS, stage.sizes.attackers))
    for number, (kind, connections) in enumerate(attacks, 1):
        row = row_of(kind, connections)
        async with _attack(port, kind, connections) as done:
            kept = await stage.undisturbed(partial(_paced, stage, port, f"{kind}{connections}{name}"))
        _note(row, kept, done)
        stage.say(f"{title}: {kind} from {connections}: {kept.found.p99:.1f} ms ({number} of {len(attacks)})")


def _note(row: Row, kept: Kept[load.Answered], done: Done) -> None:
    answered = kept.found
    row.values.append(answered.p99)
    row.stolen.append(kept.stolen)
    failed = row.detail.get("failed", 0) + answered.failed
    seconds = answered.seconds or 1.0
    row.detail = {
        "answered": round(answered.per_second),
        "failed": failed,
        "attackers_connections_each_second": round(done.connections / seconds),
        "attackers_megabytes_each_second": round(done.bytes / seconds / 1e6, 1),
        "attackers_cores": round(done.cpu / seconds, 2),
    }
    if failed:
        row.notes = [f"{failed} good requests failed"]


def _name(kind: str, connections: int) -> str:
    return UNDER.format(rate=RATE, kind=kind, connections=connections)


async def _paced(stage: Stage, port: int, name: str) -> load.Answered:
    seconds = stage.sizes.attack_seconds
    requests = stage.requests(int(RATE * seconds) + 1, f"{name.replace(' ', '')}{next(_runs)}")
    return await load.apply(load.load(requests, port, seconds, rate=RATE), "own")


@asynccontextmanager
async def _attack(port: int, kind: str, connections: int) -> AsyncIterator[Done]:
    """Beside what came of it so far, which it says itself: one that is starved would not even tell that it ends."""
    asked = msgspec.json.encode(Attack(port=port, kind=kind, connections=connections)).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load.attack", asked, cwd=ROOT, stdin=DEVNULL, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdout is not None
    done = Done()
    try:
        if not await process.stdout.readline():
            raise RuntimeError("the attack could not begin")
        listening = asyncio.create_task(_listen(process.stdout, done))
        yield done
        if process.returncode is not None:
            raise RuntimeError(f"the attack {kind!r} ended before the measurement did")
        process.kill()
        await listening
        await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _listen(told: asyncio.StreamReader, done: Done) -> None:
    while (line := await told.readline()).endswith(b"\n"):
        said = msgspec.json.decode(line, type=Done)
        done.connections, done.bytes, done.cpu = said.connections, said.bytes, said.cpu
