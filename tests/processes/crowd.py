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

from landfast.web.http.connections import Limits
from tests.patience import PATIENCE_SECONDS
from tests.shops import Shop

REQUEST_SECONDS = Limits().request_seconds
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A request on a new connection that met its end, by the sender's own clock."""

    key: str
    why: str
    connected: float
    sent: float | None
    """None: its TLS handshake never ended."""
    over: float

    @property
    def is_late(self) -> bool:
        """It had been connected for longer than a request may take when it sent one, and nobody owes it an answer."""
        return (self.sent or self.over) - self.connected > REQUEST_SECONDS

    def since(self, signal: float) -> str:
        sent = "no handshake" if self.sent is None else f"sent {self.sent - signal:+.3f}"
        return f"{self.key}: connected {self.connected - signal:+.3f} s, {sent}, over {self.over - signal:+.3f}, {self.why}"


@dataclass(slots=True)
class Crowd:
    """Each goes away when it is refused. Judged by what the kernel said, and by no clock: a sender whose `connect`
    has returned must get its answer, however long it takes to say something."""

    shop: Shop
    port: int
    tls: ssl.SSLContext | None = None
    signalled: float = float("inf")
    """When the server got its first signal."""
    ended: float = float("inf")
    """When it was told to stop."""
    took: float = 0.0
    """Seconds until it had stopped."""
    ends: list[str] = field(default_factory=list)
    """Which of its processes ended when."""
    is_over: bool = False
    answered: set[str] = field(default_factory=set)
    """With 200."""
    statuses: Counter[bytes] = field(default_factory=Counter)
    refused: int = 0
    in_flight_at_the_end: int = 0
    unanswered: list[Unanswered] = field(default_factory=list)
    crossed: int = 0
    """Requests that met the end of a connection that was idle after an answer. HTTP lets either side close one at any
    time; like every client, ours sends the request again on a new connection."""

    @asynccontextmanager
    async def sending(self, senders: int) -> AsyncIterator[None]:
        """Every other one keeps its connection."""
        async with asyncio.timeout(2 * PATIENCE_SECONDS), asyncio.TaskGroup() as tasks:
            for number in range(senders):
                tasks.create_task(self.send(f"evt_{number}", keeps_alive=number % 2 == 0))
            try:
                yield
            finally:
                self.is_over = True

    async def send(self, name: str, *, keeps_alive: bool) -> None:
        streams: Streams | None = None
        number = 0
        while not self.is_over or self.ended < float("inf"):
            key, began, is_used = f"{name}_{number}", time.monotonic(), streams is not None
            try:
                if streams is None:
                    # Every fourth sender's last ACK waits for its first bytes, as if it came from far away.
                    connection = await connect(self.port, acknowledges_late=name.endswith(("1", "5", "9")))
            except OSError:
                self.refused += 1
                return
            answer, why, connected = b"", "no answer", time.monotonic()
            sent: float | None = None
            try:
                streams = streams or await streams_of(connection, self.tls)
                streams[1].write(self.shop.sender.delivery(self.shop.sender.payment(key)))
                sent = time.monotonic()
                answer = await answer_on(streams[0])
            except OSError as error:
                why = repr(error)
            if answer:
                self._note(key, answer, began)
            elif is_used:
                self.crossed += 1
            else:
                self.unanswered.append(Unanswered(key, why, connected, sent, time.monotonic()))
            if answer or not is_used:
                number += 1
            if streams is not None and (not keeps_alive or not answer or b"connection: close" in answer):
                streams[1].close()
                streams = None
        if streams is not None:
            streams[1].close()

    def _note(self, key: str, answer: bytes, began: float) -> None:
        self.statuses[answer[9:12]] += 1
        self.in_flight_at_the_end += began <= self.ended <= time.monotonic()
        if answer[9:12] == b"200":
            self.answered.add(key)

    def left_by_the_stop(self) -> list[str]:
        """Who was told nothing, and had a right to an answer; seconds are counted from the first signal."""
        return [
            each.since(self.signalled) for each in self.unanswered if each.over >= self.signalled and not each.is_late
        ]


async def connected(port: int) -> Streams:
    return await streams_of(await connect(port))


async def connect(port: int, *, acknowledges_late: bool = False) -> socket.socket:
    sender = socket.socket()
    sender.setblocking(False)
    if acknowledges_late:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
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
        async with asyncio.timeout(PATIENCE_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
            return head + await reader.readexactly(int(length or b"0"))
    except (OSError, EOFError):
        return b""
