"""An empty server on uvloop that knows by a sign who is a stranger, and hangs up on them at their first byte.

No server can do less for either. What strangers cost those who send to this one is what they cost on this machine
whatever is attacked: the kernel's work for their bytes, and the processors that all of us share.
"""

from __future__ import annotations

import asyncio
import signal
from typing import cast

import uvloop

from bench.servers import guard

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
SIGN = b"\r\nUser-Agent: Stripe/"
"""In the head of each good request, and in none of a stranger's."""


class Bare(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        # A good request comes in one piece: it has 2 KB, and its sender waits for each answer.
        if SIGN in data[:1024]:
            self._transport.write(ANSWER)
        else:
            self._transport.abort()


async def _serve() -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stopping.set)
    listening = guard.listener()
    server = await loop.create_server(Bare, sock=listening, backlog=2048)
    guard.say(listening.getsockname()[1])
    await stopping.wait()
    server.close()


if __name__ == "__main__":
    guard.end_with_our_parent()
    uvloop.run(_serve())
