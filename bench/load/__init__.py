"""Load: `wrk` where it is installed, else a client of our own. One thread, 64 connections, no pipelining."""

from __future__ import annotations

import asyncio
import json
import shutil
import sys
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import Literal

import msgspec

from bench import machine
from bench.deliveries import Requests

CONNECTIONS = 64
OVERTIME = 60.0
"""Seconds beyond a run's own that its generator may take; then it hangs, and so would we."""

Generator = Literal["wrk", "own"]


class Load(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    path: str
    length: int
    skip: int
    """Requests of the file that were used before."""
    count: int
    seconds: float
    cycles: bool = False
    """Whether to begin again at the end of the file; else the run ends there."""
    rate: float = 0.0
    """Requests per second; 0 for as many as get answered."""
    connections: int = CONNECTIONS


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    ok: int
    failed: int
    """Other than 2xx, or no answer at all."""
    seconds: float
    p50: float
    """Milliseconds, as p99."""
    p99: float
    cpu: float = 0.0
    """Seconds of processor that the generator itself used."""
    generator: str = "own"

    @property
    def per_second(self) -> float:
        return self.ok / self.seconds if self.seconds else 0.0


def found() -> Generator:
    return "wrk" if shutil.which("wrk") else "own"


def load(
    requests: Requests, port: int, seconds: float, *, skip: int = 0, cycles: bool = False, rate: float = 0
) -> Load:
    return Load(
        port=port,
        path=str(requests.path),
        length=requests.length,
        skip=skip,
        count=requests.count - skip,
        seconds=seconds,
        cycles=cycles,
        rate=rate,
    )


async def apply(what: Load, generator: Generator) -> Answered:
    """wrk cannot keep a rate, so what has one comes from our own client."""
    if generator == "wrk" and not what.rate:
        return await _by_wrk(what)
    out, _ = await _run(what, sys.executable, "-m", "bench.load.client", msgspec.json.encode(what).decode())
    return msgspec.json.decode(out, type=Answered)


async def _by_wrk(what: Load) -> Answered:
    script = ["-s", str(Path(__file__).with_name("replay.lua"))]
    size = ["-t1", f"-c{what.connections}", f"-d{max(1, round(what.seconds))}s", "--timeout", "10s"]
    skipped, last = what.skip * what.length, (what.skip + what.count) * what.length
    file = [what.path, what.length, skipped, last, int(what.cycles)]
    out, cpu = await _run(what, "wrk", *size, *script, f"http://127.0.0.1:{what.port}", "--", *map(str, file))
    said = json.loads(out.splitlines()[-1])
    return msgspec.structs.replace(msgspec.convert(said, Answered), cpu=cpu, generator="wrk")


async def _run(what: Load, *command: str) -> tuple[bytes, float]:
    root = Path(__file__).parent.parent.parent
    process = await asyncio.create_subprocess_exec(*command, cwd=root, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    cpu = _Watch(process.pid)
    watching = asyncio.create_task(cpu.watch())
    try:
        async with asyncio.timeout(what.seconds + OVERTIME):
            out, err = await process.communicate()
    finally:
        watching.cancel()
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the load generator failed: {err.decode()[-500:]}")
    return out, cpu.seconds


class _Watch:
    """The processor time of a process that cannot tell it itself: read while it lives."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.seconds = 0.0

    async def watch(self) -> None:
        while True:
            self.seconds = max(self.seconds, machine.cpu_seconds([self._pid]))
            await asyncio.sleep(0.05)
