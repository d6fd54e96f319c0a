"""A client that can send anything, and the server it sends it to."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import Any, NamedTuple

from landfast.ports.provider import Secret
from landfast.testing.signing import sign
from landfast.web.http.connections import Limits
from landfast.web.http.listener import listen
from landfast.web.http.protocol import Connection
from landfast.web.http.server import HttpServer
from tests.intake.desk import SECRET, Desk
from tests.patience import PATIENCE_SECONDS

PATIENCE = PATIENCE_SECONDS
"""Seconds until a test gives up on bytes that do not come."""

GRACE = 5.0
"""Seconds for what a test left open on purpose."""


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def closes(self) -> bool:
        return self.headers.get("connection") == "close"


class HandTime:
    """The server's time, which goes on when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shop:
    """A desk behind a real server."""

    def __init__(
        self, *, limits: Limits | None = None, tls: ssl.SSLContext | None = None, desk: Desk | None = None
    ) -> None:
        self.desk = desk or Desk()
        self.time = HandTime()
        self.server = HttpServer(self.desk.intake, limits=limits, tls=tls, time=self.time)
        self.clients: list[Client] = []
        self.is_open = False

    async def open(self) -> None:
        self.listener = listen("127.0.0.1", 0)
        self.port = self.listener.getsockname()[1]
        await self.server.start(self.listener)
        self.is_open = True

    async def close(self) -> None:
        for client in self.clients:
            client.abort()
        self.desk.recorder.gate.set()  # a test that failed may have left it shut
        if self.is_open:
            self.is_open = False
            await self.server.stop(grace=GRACE)
        await self.desk.group.close()

    async def connect(self, **options: Any) -> Client:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, **options)
        client = Client(reader, writer)
        self.clients.append(client)
        return client

    async def connect_by(self, sender: socket.socket, **options: Any) -> Client:
        """On a socket that has connected already."""
        reader, writer = await asyncio.open_connection(sock=sender, **options)
        self.clients.append(Client(reader, writer))
        return self.clients[-1]

    async def connect_narrow(self) -> tuple[Client, Connection]:
        """A connection that holds a few KiB only, whose client does not read until it is asked to."""
        narrow = socket.socket()
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        narrow.connect(("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=narrow, limit=1)
        self.clients.append(Client(reader, writer))
        connection = await self.server_side()
        transport = connection._transport
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1024)
        transport.set_write_buffer_limits(high=1)
        return self.clients[-1], connection

    async def server_side(self) -> Connection:
        """The server's end of the only connection."""
        await self.until(lambda: bool(self.server.connections.open))
        (connection,) = self.server.connections.open
        assert isinstance(connection, Connection)
        return connection

    async def until(self, holds: Callable[[], bool]) -> None:
        """The server sees what a client did a moment later: a real socket is between them."""
        async with asyncio.timeout(PATIENCE):
            while not holds():
                await asyncio.sleep(0)

    def pass_time(self, seconds: float) -> None:
        """Move the server's time and let it look at its connections."""
        self.time.now += seconds
        self.server.connections.sweep(self.time.now)

    def post(
        self,
        body: bytes,
        *extra: str,
        path: str = "/in/stripe",
        length: int | None = None,
        ago: float = 0,
        secret: str | None = None,
        signed: bytes | None = None,
    ) -> bytes:
        """The bytes of a genuine request, or of one that was signed wrongly on purpose."""
        now = self.desk.clock.now().timestamp()
        headers = signature(body if signed is None else signed, SECRET if secret is None else secret, now=now - ago)
        lines = [f"POST {path} HTTP/1.1", "Host: shop.example"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += [f"Content-Length: {len(body) if length is None else length}", *extra]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def chunked(self, body: bytes, chunks: bytes, *extra: str) -> bytes:
        """A genuine head for `body`, followed by whatever chunks."""
        lines = ["POST /in/stripe HTTP/1.1", "Host: shop.example", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in self.desk.headers(body).items()]
        return "\r\n".join([*lines, *extra]).encode() + b"\r\n\r\n" + chunks


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self, *, is_head: bool = False) -> Reply:
        async with asyncio.timeout(PATIENCE):
            block = await self.reader.readuntil(b"\r\n\r\n")
            first, *lines = block.decode("latin-1").split("\r\n")[:-2]
            headers = dict(line.split(": ", 1) for line in lines)
            size = 0 if is_head else int(headers.get("content-length", "0"))
            return Reply(int(first.split(" ")[1]), headers, await self.reader.readexactly(size))

    async def ask(self, data: bytes) -> Reply:
        await self.send(data)
        return await self.reply()

    async def rest(self) -> bytes:
        """Everything until the server closes."""
        async with asyncio.timeout(PATIENCE):
            return await self.reader.read()

    def half_close(self) -> None:
        self.writer.write_eof()

    def abort(self) -> None:
        self.writer.transport.abort()


def signature(body: bytes, secret: str, *, now: float) -> dict[str, str]:
    """Stripe's headers; with a key that the product itself would refuse, too."""
    return sign("stripe", body, Secret("any", secret.encode()), now=now)


def in_chunks(body: bytes, size: int = 100) -> bytes:
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
