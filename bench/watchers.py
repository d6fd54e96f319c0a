"""Open dashboards, as far as the server can tell: each listens for beats, and looks at its page after one.

Written to sockets by hand, because on a machine that senders, intake and database share, a client that costs as much as
what it measures would be measured instead. Browsers are on other machines.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PACE_SECONDS = 5.0
"""Between two looks, at least: as landfast.js has it."""

LINE_BYTES = 1 << 20


@dataclass(slots=True)
class Watched:
    beats: int = 0
    looks: int = 0
    octets: int = 0
    refused: list[bytes] = field(default_factory=list)
    """Status lines of answers that were no page."""


@asynccontextmanager
async def dashboards(port: int, count: int, page: str = "/") -> AsyncIterator[Watched]:
    seen = Watched()
    tasks = [asyncio.create_task(_watch(port, page, number / max(count, 1), seen)) for number in range(count)]
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended


async def _watch(port: int, page: str, share: float, seen: Watched) -> None:
    loop = asyncio.get_running_loop()
    beats, hearing = await asyncio.open_connection("127.0.0.1", port, limit=LINE_BYTES)
    page_of = _Page(port, page)
    last = 0.0
    try:
        hearing.write(_request(port, "/api/stream?only=beats", "accept: text/event-stream"))
        while line := await beats.readline():
            if not line.startswith(b"data: "):
                continue
            seen.beats += 1
            seconds = float(line.rpartition(b":")[2].rstrip(b"}\r\n"))
            # A browser's own moment is chance; here they are spread evenly.
            await asyncio.sleep(max(share * seconds / 5, last + PACE_SECONDS - loop.time()))
            last = loop.time()
            await page_of.look(seen)
    finally:
        hearing.close()
        page_of.close()


class _Page:
    """Over a connection that is kept, and made again where the server has ended it, as browsers do."""

    def __init__(self, port: int, page: str) -> None:
        self._port = port
        pace = f"{PACE_SECONDS * 1000:.0f}"
        self._request = _request(port, page, "accept: text/html", f"landfast-look: {pace}")
        self._open: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def look(self, seen: Watched) -> None:
        is_new = self._open is None
        reader, writer = self._open = self._open or await asyncio.open_connection(
            "127.0.0.1", self._port, limit=LINE_BYTES
        )
        try:
            writer.write(self._request)
            await _read(reader, seen)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.close()
            if is_new:
                raise
            await self.look(seen)

    def close(self) -> None:
        if self._open is not None:
            self._open[1].close()
        self._open = None


def _request(port: int, path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"host: 127.0.0.1:{port}", *headers, "", ""]).encode()


async def _read(reader: asyncio.StreamReader, seen: Watched) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    status, *lines = head.lower().split(b"\r\n")
    length = next(int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:"))
    seen.octets += len(await reader.readexactly(length))
    seen.looks += 1
    if b" 200 " not in status:
        seen.refused.append(status)
