"""Our own load generator: `python -m bench.load.client '{...}'` sends, and prints what came back as JSON.

At full speed each connection sends its next request when it has the answer to the last. At a rate, requests fall due by
the clock whatever the server does, and a request that waits for a free connection waits at the server's cost: otherwise
a server that stalls would be asked less, and look fast.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections import deque
from pathlib import Path
from typing import cast

import msgspec
import uvloop

from bench.load import Answered, Load

TICK = 0.001
"""Seconds between looks at what is due."""

_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


class Run:
    def __init__(self, load: Load) -> None:
        with Path(load.path).open("rb") as file:
            file.seek(load.skip * load.length)
            self._bytes = file.read(load.count * load.length)
        self._load = load
        self._sent = 0
        self._latencies: list[float] = []
        self._failed = 0
        self._connected = 0
        self._idle: deque[Connection] = deque()
        self._due: deque[float] = deque()
        self._ends_at = float("inf")
        self._over = asyncio.Event()

    async def run(self) -> Answered:
        loop = asyncio.get_running_loop()
        opened = [
            loop.create_connection(lambda: Connection(self), "127.0.0.1", self._load.port)
            for _ in range(self._load.connections)
        ]
        connections = [protocol for _, protocol in await asyncio.gather(*opened)]
        self._connected = len(connections)
        began, cpu = time.perf_counter(), time.process_time()
        self._ends_at = began + self._load.seconds
        if self._load.rate:
            self._idle.extend(connections)
            pacing = asyncio.create_task(self._keep_rate(began))
        else:
            pacing = None
            for connection in connections:
                self.is_free(connection, began)
        await self._over.wait()
        if pacing is not None:
            await pacing
        return self._answered(time.perf_counter() - began, time.process_time() - cpu)

    def is_free(self, connection: Connection, now: float) -> None:
        """It has its answer, and takes the next request if there is one."""
        if self._load.rate:
            if self._due:
                connection.send(self._next(), self._due.popleft())
            else:
                self._idle.append(connection)
                self._end_if_over(now)
        elif now >= self._ends_at or self._is_spent():
            connection.leave()
        else:
            connection.send(self._next(), now)

    def heard(self, seconds: float, *, ok: bool) -> None:
        if ok:
            self._latencies.append(seconds)
        else:
            self._failed += 1

    def lost(self, *, waiting: bool) -> None:
        self._failed += waiting
        self._connected -= 1
        if not self._connected:
            self._over.set()

    async def _keep_rate(self, began: float) -> None:
        scheduled = 0
        while (now := time.perf_counter()) < self._ends_at:
            wanted = min(int((now - began) * self._load.rate), self._load.count)
            self._due.extend([now] * (wanted - scheduled))
            scheduled = wanted
            while self._due and self._idle:
                self._idle.popleft().send(self._next(), self._due.popleft())
            await asyncio.sleep(TICK)
        self._end_if_over(now)

    def _end_if_over(self, now: float) -> None:
        if now >= self._ends_at and not self._due and len(self._idle) == self._connected:
            self._over.set()

    def _is_spent(self) -> bool:
        return self._sent >= self._load.count and not self._load.cycles

    def _next(self) -> bytes:
        at = self._sent % self._load.count * self._load.length
        self._sent += 1
        return self._bytes[at : at + self._load.length]

    def _answered(self, seconds: float, cpu: float) -> Answered:
        ordered = sorted(self._latencies) or [0.0]
        p50, p99 = (ordered[int(len(ordered) * share)] * 1000 for share in (0.5, 0.99))
        return Answered(ok=len(self._latencies), failed=self._failed, seconds=seconds, p50=p50, p99=p99, cpu=cpu)


class Connection(asyncio.Protocol):
    def __init__(self, run: Run) -> None:
        self._run = run
        self._sent_at = 0.0
        self._waiting = False
        self._partial = b""
        self._usual = 0
        """Bytes of the last answer: the next of that length is taken for whole without reading its head."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def send(self, request: bytes, since: float) -> None:
        self._waiting = True
        self._sent_at = since
        self._transport.write(request)

    def leave(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        if self._partial:
            data = self._partial + data
            self._partial = b""
        if len(data) != self._usual:
            if not _is_whole(data):
                self._partial = data
                return
            self._usual = len(data)
        now = time.perf_counter()
        self._waiting = False
        self._run.heard(now - self._sent_at, ok=data.startswith(b"HTTP/1.1 2"))
        self._run.is_free(self, now)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._run.lost(waiting=self._waiting)


def _is_whole(answer: bytes) -> bool:
    end = answer.find(b"\r\n\r\n")
    length = _LENGTH.search(answer, 0, end + 2) if end >= 0 else None
    return length is not None and len(answer) >= end + 4 + int(length[1])


async def _main() -> None:
    load = msgspec.json.decode(sys.argv[1], type=Load)
    async with asyncio.timeout(load.seconds + 30):
        answered = await Run(load).run()
    sys.stdout.buffer.write(msgspec.json.encode(answered) + b"\n")


if __name__ == "__main__":
    uvloop.run(_main())
