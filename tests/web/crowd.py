"""Many clients at once, few of them friendly: slow ones, greedy ones, and a sender that goes about its business."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import resource
import socket
import statistics
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from bench.load.slow import Crowd, Gone
from landfast.demo.load import Connection
from tests.patience import PATIENCE_SECONDS
from tests.shops import SECRET, Shop

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def descriptors(count: int) -> Iterator[None]:
    """So many file descriptors for this process and those that it starts, as a server's are set up to have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = max(soft, count)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.asynccontextmanager
async def slow_crowd(port: int, count: int) -> AsyncIterator[asyncio.Task[Gone]]:
    """So many of them in a process of their own, all connected; the task ends when they have, and says how."""
    asked = msgspec.json.encode(Crowd(port=port, count=count)).decode()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load.slow", asked, cwd=ROOT, stdin=DEVNULL, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        assert await process.stdout.readline() == b"open\n"
        yield asyncio.create_task(_gone(process.stdout))
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def _gone(output: asyncio.StreamReader) -> Gone:
    return msgspec.json.decode(await output.readline(), type=Gone)


@dataclass(slots=True)
class Good:
    """A sender with a few connections, whose events are all new."""

    shop: Shop
    port: int
    prefix: str = "good"
    connections: int = 4
    statuses: list[int | None] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Milliseconds, in the order of the answers."""
    is_over: bool = False

    async def run(self, count: int = 10**9) -> None:
        """Send until `is_over`, or so many on each connection."""
        await asyncio.gather(*(self._send(f"{self.prefix}_{number}", count) for number in range(self.connections)))

    async def _send(self, name: str, count: int) -> None:
        connection = Connection(self.port)
        for number in range(count):
            if self.is_over:
                break
            request = self.shop.sender.delivery(self.shop.sender.payment(f"evt_{name}_{number}"))
            sent = time.perf_counter()
            self.statuses.append(await connection.send(request))
            self.waits.append((time.perf_counter() - sent) * 1e3)
            await asyncio.sleep(0.01)
        connection.close()

    def p99(self, windows: int = 5) -> float:
        """The median over several windows: one hiccup of the machine is not the server's."""
        size = max(len(self.waits) // windows, 1)
        each = [sorted(self.waits[at : at + size]) for at in range(0, size * windows, size)]
        return statistics.median(window[int(len(window) * 0.99)] for window in each if window)


@dataclass(slots=True)
class Spike:
    """Large new events from many connections at once, for as long as it lasts; more bytes than any budget allows."""

    port: int
    size: int = 1_000_000
    statuses: dict[int | None, int] = field(default_factory=dict)
    waits: set[str] = field(default_factory=set)
    """Every Retry-After that was seen."""

    async def run(self, connections: int, *, seconds: float) -> None:
        until = time.monotonic() + seconds
        filler = b"x" * self.size  # one for all: a copy for each would fill our own memory
        await asyncio.gather(*(self._send(f"spike_{number}", filler, until) for number in range(connections)))

    async def _send(self, name: str, filler: bytes, until: float) -> None:
        number = 0
        while time.monotonic() < until:
            number += 1
            start, end = b'{"id":"evt_%s_%d","type":"spike","filler":"' % (name.encode(), number), b'"}'
            signed_at = b"%d" % time.time()
            digest = hmac.new(SECRET.encode(), signed_at + b"." + start, "sha256")
            digest.update(filler)
            digest.update(end)
            head = b"POST /in/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\nStripe-Signature: t=%s,v1=%s\r\n\r\n"
            sized = head % (len(start) + len(filler) + len(end), signed_at, digest.hexdigest().encode())
            await self._count(sized + start, filler, end)

    async def _count(self, *request: bytes) -> None:
        """Without a stream's buffers, for the same reason."""
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            head = b""
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await loop.sock_connect(sock, ("127.0.0.1", self.port))
                    with contextlib.suppress(OSError):  # refused in the middle, and the answer is there to be read
                        for piece in request:
                            await loop.sock_sendall(sock, piece)
                    head = await loop.sock_recv(sock, 4096)
            except (OSError, TimeoutError):
                pass
            status = int(head[9:12]) if head.startswith(b"HTTP/1.1 ") else None
            self.statuses[status] = self.statuses.get(status, 0) + 1
            if status == 503:
                self.waits.add(head.partition(b"retry-after: ")[2].partition(b"\r\n")[0].decode())


def memory(pid: int, *, peak: bool = False) -> int:
    """Bytes that a process holds, or held at most."""
    name = "VmHWM:" if peak else "VmRSS:"
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))
