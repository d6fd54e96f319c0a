"""A crowd of slow clients: `python -m bench.load.slow '{...}'` opens them all, says `open`, and drips a byte a second
into each until the server has closed the last one. Then it prints what became of them as JSON.

Half of them never finish their headers, and half, whose signature is forged, never finish their bodies.
"""

from __future__ import annotations

import asyncio
import sys
import time
from typing import cast

import msgspec
import uvloop

DRIP = 1.0
"""Seconds between two bytes of one client."""

AT_ONCE = 100
"""Connections that are opened, or written to, in one turn."""

GIVES_UP = 60.0
"""Seconds: far more than a server may let them live."""

_HEAD = b"POST /in/stripe HTTP/1.1\r\nHost: a\r\nX-Slow: "
_BODY = (
    b"POST /in/stripe HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\nStripe-Signature: t=%d,v1="
    + b"0" * 64
    + b"\r\n\r\n{"
)


class Crowd(msgspec.Struct, frozen=True, kw_only=True):
    port: int
    count: int = 2_000


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """What became of them."""

    left: int
    """Still connected at the end."""
    shortest: float
    longest: float
    """Seconds from a connection's beginning to its end."""
    statuses: dict[str, int]


class Slow(asyncio.Protocol):
    def __init__(self, opening: bytes) -> None:
        self._opening = opening
        self._started = 0.0
        self.lasted = 0.0
        """Seconds; 0 while it lasts."""
        self.answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._started = time.monotonic()
        self._transport.write(self._opening)

    def drip(self) -> None:
        if not self.lasted:
            self._transport.write(b"x")

    def data_received(self, data: bytes) -> None:
        self.answer += data

    def eof_received(self) -> None:
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._end()

    def _end(self) -> None:
        self.lasted = self.lasted or time.monotonic() - self._started


async def _main() -> None:
    crowd = msgspec.json.decode(sys.argv[1], type=Crowd)
    clients = [Slow(_BODY % time.time() if number % 2 else _HEAD) for number in range(crowd.count)]
    loop = asyncio.get_running_loop()
    for at in range(0, crowd.count, AT_ONCE):
        some = clients[at : at + AT_ONCE]
        await asyncio.gather(*(loop.create_connection(lambda c=c: c, "127.0.0.1", crowd.port) for c in some))  # type: ignore[misc]
    sys.stdout.buffer.write(b"open\n")
    sys.stdout.flush()
    ends = loop.time() + GIVES_UP
    while not all(client.lasted for client in clients) and loop.time() < ends:
        for at in range(0, crowd.count, AT_ONCE):
            for client in clients[at : at + AT_ONCE]:
                client.drip()
            await asyncio.sleep(DRIP * AT_ONCE / crowd.count)
    sys.stdout.buffer.write(msgspec.json.encode(_gone(clients)) + b"\n")


def _gone(clients: list[Slow]) -> Gone:
    lasted = [client.lasted for client in clients if client.lasted]
    statuses: dict[str, int] = {}
    for client in clients:
        status = client.answer[9:12].decode() or "none"
        statuses[status] = statuses.get(status, 0) + 1
    return Gone(
        left=len(clients) - len(lasted),
        shortest=min(lasted, default=0.0),
        longest=max(lasted, default=0.0),
        statuses=statuses,
    )


if __name__ == "__main__":
    uvloop.run(_main())
