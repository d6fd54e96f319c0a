"""`/health` and `/ready` on a port of their own, for a process that takes no webhooks in: an orchestrator asks a worker
as it asks an intake. `/metrics` on another, which need not be the same people's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from landfast.domain.answer import Answer, error
from landfast.domain.delivery import Head, Headers
from landfast.domain.readiness import Readiness
from landfast.telemetry.exposition import CONTENT_TYPE
from landfast.web.health import vital_sign
from landfast.web.http.responses import render

HEAD_BYTES = 8192
"""Of a request. A probe sends a few hundred."""
REQUEST_SECONDS = 5.0
"""For a request to arrive, and for its answer to be read."""
MOST_CONNECTIONS = 64
"""At the same time: a handful of probes ask every few seconds. Whoever comes beyond them is hung up on."""


Told = Callable[[], Awaitable[bytes]]
"""What `/metrics` says."""


@asynccontextmanager
async def probed(
    listener: socket.socket | None, ready: Callable[[], Readiness], metrics: Told | None = None
) -> AsyncIterator[None]:
    """Answer on this listener until the end of the block; `/metrics` only where somebody tells them. The loop that
    answers is the one that is asked about, so no answer means that it stands still."""
    if listener is None:
        yield
        return
    talks: set[asyncio.StreamWriter] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        talks.add(writer)
        try:
            with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                if len(talks) <= MOST_CONNECTIONS:
                    async with asyncio.timeout(REQUEST_SECONDS):
                        writer.write(await _answer(await reader.readuntil(b"\r\n\r\n"), ready, metrics))
                        await writer.drain()
        finally:
            talks.discard(writer)
            writer.close()

    server = await asyncio.start_server(talk, sock=listener, limit=HEAD_BYTES)
    try:
        yield
    finally:
        server.close()
        for writer in talks:
            writer.transport.abort()


async def _answer(head: bytes, ready: Callable[[], Readiness], metrics: Told | None) -> bytes:
    method, _, rest = head.partition(b"\r\n")[0].decode("ascii", "replace").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0]
    found: Answer | None = vital_sign(Head(method, path, "", Headers(()), None), ready)
    if metrics is not None and path == "/metrics" and method in {"GET", "HEAD"}:
        found = Answer(200, await metrics(), CONTENT_TYPE)
    known = "/health or /ready" if metrics is None else "/metrics, /health or /ready"
    return render(found or error(404, f"ask for {known}"), closes=True, is_head=method == "HEAD")
