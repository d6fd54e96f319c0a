"""Senders that never pause, and know what became of each request."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.shops import Shop

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True)
class Crowd:
    """Each goes away when it is refused. Judged by what the kernel said, and by no clock: a sender whose `connect`
    has returned must get its answer, however long it takes to say something."""

    shop: Shop
    port: int
    tls: ssl.SSLContext | None = None
    ended: float = float("inf")
    """When the server was told to stop."""
    took: float = 0.0
    """Seconds until it had stopped."""
    is_over: bool = False
    answered: set[str] = field(default_factory=set)
    """With 200."""
    statuses: Counter[bytes] = field(default_factory=Counter)
    refused: int = 0
    in_flight_at_the_end: int = 0
    unanswered: list[str] = field(default_factory=list)
    crossed: int = 0
    """Requests that met the end of a connection that was idle after an answer. HTTP lets either side close one at any
    time; like every client, ours sends the request again on a new connection."""

    @asynccontextmanager
    async def sending(self, senders: int) -> AsyncIterator[None]:
        """Every other one keeps its connection."""
        async with asyncio.timeout(300), asyncio.TaskGroup() as tasks:
            for number in range(senders):
                tasks.create_task(self.send(f"evt_{number}", keeps_alive=number % 2 == 0))
            try:
                yield
            finally:
                self.is_over = True

    async def send(self, name: str, *, keeps_alive: bool) -> None:
        streams: Streams | None = None
        number, is_used = 0, False
        while not self.is_over or self.ended < float("inf"):
            key, began = f"{name}_{number}", time.monotonic()
            try:
                if streams is None:
                    # Every fourth sender's last ACK waits for its first bytes, as if it came from far away.
                    connection = await connect(self.port, acknowledges_late=name.endswith(("1", "5", "9")))
                    is_used = False
            except OSError:
                self.refused += 1
                return
            answer = b""
            try:
                streams = streams or await streams_of(connection, self.tls)
                streams[1].write(self.shop.sender.delivery(self.shop.sender.payment(key)))
                answer = await answer_on(streams[0])
            except OSError as error:
                self.unanswered.append(f"{key}: {error!r}, {time.monotonic() - self.ended:.3f} s after the signal")
            else:
                self._note(key, answer, began, is_used=is_used)
            if answer or not is_used:
                number += 1
            is_used = True
            if streams is not None and (not keeps_alive or not answer or b"connection: close" in answer):
                streams[1].close()
                streams = None
        if streams is not None:
            streams[1].close()

    def _note(self, key: str, answer: bytes, began: float, *, is_used: bool) -> None:
        if answer:
            self.statuses[answer[9:12]] += 1
            self.in_flight_at_the_end += began <= self.ended <= time.monotonic()
        elif is_used:
            self.crossed += 1
        else:
            now = time.monotonic()
            self.unanswered.append(
                f"{key}: no answer in {now - began:.3f} s, {now - self.ended:.3f} s after the signal"
            )
        if answer[9:12] == b"200":
            self.answered.add(key)


async def connected(port: int) -> Streams:
    return await streams_of(await connect(port))


async def connect(port: int, *, acknowledges_late: bool = False) -> socket.socket:
    sender = socket.socket()
    sender.setblocking(False)
    if acknowledges_late:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    try:
        async with asyncio.timeout(10):
            await asyncio.get_running_loop().sock_connect(sender, ("127.0.0.1", port))
    except BaseException:
        sender.close()
        raise
    return sender


async def streams_of(sender: socket.socket, tls: ssl.SSLContext | None = None) -> Streams:
    """TLS, where it is wanted, and streams, on a socket that has connected."""
    return await asyncio.open_connection(sock=sender, ssl=tls, server_hostname="127.0.0.1" if tls else None)


async def answer_on(reader: asyncio.StreamReader) -> bytes:
    """Head and body, in small letters; nothing if the connection broke."""
    try:
        async with asyncio.timeout(30):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            return head + await reader.readexactly(int(length or b"0"))
    except (OSError, EOFError):
        return b""
