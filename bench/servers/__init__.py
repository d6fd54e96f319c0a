"""Servers to compare with, each a process of its own on the loopback."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from bench import machine

STARTS_WITHIN = 60.0
STOPS_WITHIN = 10.0
ROOT = Path(__file__).parent.parent.parent


class Server:
    def __init__(self, process: Process, port: int) -> None:
        self._process = process
        self.port = port

    def pids(self) -> list[int]:
        """Itself and its children."""
        return [self._process.pid, *machine.children(self._process.pid)]


@asynccontextmanager
async def running(module: str, *, env: Mapping[str, str]) -> AsyncIterator[Server]:
    """`bench.servers.<module>`, which prints its port and ends when its input closes: it cannot outlive us."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"bench.servers.{module}", cwd=ROOT, env=env, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        async with asyncio.timeout(STARTS_WITHIN):
            port = int(await process.stdout.readline() or b"0")
            if not port:
                raise RuntimeError(f"bench.servers.{module} did not start")
            await _answers(port)
        yield Server(process, port)
    finally:
        process.stdin.close()
        try:
            async with asyncio.timeout(STOPS_WITHIN):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def _answers(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.02)
        else:
            writer.close()
            return
