"""Whoever connects to the admin port and says nothing does not keep its place."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn

from landfast.processes.children import admin_protocol
from landfast.processes.children.admin_protocol import AdminProtocol, owner_of
from tests.patience import PATIENCE_SECONDS

HEAD = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"
LARGE = bytes(16 * 1024 * 1024)
"""More than a kernel takes for one who does not read."""

POST = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n"
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Host:
    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.port = 0
        self.is_answered = asyncio.Event()
        self.answering: Callable[[], None] = lambda: None

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """A GET is answered once the test says so, a POST without its body being read, /large with all of it in one
        piece, and /stream in two."""
        if scope["path"] != "/":
            self.answering()
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": LARGE, "more_body": scope["path"] == "/stream"})
            if scope["path"] == "/stream":
                await send({"type": "http.response.body", "body": b"more"})
            self.is_answered.set()
            return
        if scope["method"] == "GET":
            await self.go_on.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})

    async def connected(self, first: bytes = b"") -> Connection:
        """What it says first is there before it is accepted: however long we stand still, it is not too late for that."""
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.sendall(first)
        return await asyncio.open_connection(sock=connection)


@asynccontextmanager
async def serving() -> AsyncIterator[Host]:
    host = Host()
    apart: Any = {"interface": "asgi3", "lifespan": "off", "ws": "none"}
    config = uvicorn.Config(host.app, http=AdminProtocol, port=0, log_config=None, **apart)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    host.port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield host
    finally:
        host.go_on.set()
        await server.shutdown()


async def ended(connection: Connection) -> bytes:
    """What came until its end."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        try:
            return await connection[0].read()
        except ConnectionResetError:
            return b""
        finally:
            connection[1].close()


async def test_an_idle_connection_is_ended_and_one_that_is_answered_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_protocol, "HEAD_SECONDS", 0.05)
    monkeypatch.setattr(admin_protocol, "BODY_SECONDS", 0.05)
    async with serving() as host:
        asking = await host.connected(HEAD)
        assert await ended(await host.connected()) == b""
        assert await ended(await host.connected(HEAD[:-2])) == b"", "half a head is none"
        assert (await ended(await host.connected(POST + b"x"))).endswith(b"ok"), "nobody read its body"
        host.go_on.set()
        assert (await ended(asking)).endswith(b"ok")


async def test_a_head_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_protocol, "HEAD_BYTES", 1_000)
    async with serving() as host:
        assert await ended(await host.connected(HEAD[:-2] + b"x-long: " + b"a" * 2_000)) == b""


async def test_one_address_has_some_of_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_protocol, "CONNECTIONS_OF_ONE_ADDRESS", 2)
    async with serving() as host:
        host.go_on.set()
        kept = [await host.connected(HEAD) for _ in range(2)]
        for reader, _ in kept:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await reader.readuntil(b"ok")
        assert await ended(await host.connected(HEAD)) == b""
        for _, writer in kept:
            writer.close()


async def test_who_asks_for_much_and_reads_nothing_does_not_keep_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin_protocol, "READING_SECONDS", 0.05)
    async with serving() as host:
        with socket.create_connection(("127.0.0.1", host.port)) as stranger:
            stranger.sendall(HEAD.replace(b"/ ", b"/stream ", 1))
            async with asyncio.timeout(PATIENCE_SECONDS):
                await host.is_answered.wait()  # to nobody: until then it waits for the reader


async def test_who_reads_a_long_answer_has_time_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as host:
        host.answering = lambda: monkeypatch.setattr(admin_protocol, "HEAD_SECONDS", 0.0)
        asked = HEAD.replace(b"/ ", b"/large ", 1).replace(b"host", b"connection: close\r\nhost", 1)
        reader, writer = await host.connected(asked)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await reader.readuntil(b"\r\n\r\n")
        assert (await ended((reader, writer))).count(b"\0") == len(LARGE)


def test_a_network_of_ipv6_is_one_address() -> None:
    assert owner_of("2001:db8::1") == owner_of("2001:db8::ffff:0:0:2") != owner_of("2001:db8:0:1::1")
    assert owner_of("::ffff:192.0.2.1") != owner_of("::ffff:192.0.2.2"), "those are of IPv4"
    assert [owner_of(host) for host in ("192.0.2.1", "")] == ["192.0.2.1", ""]
    assert owner_of("fe80::1%eth0") == owner_of("fe80::2%eth0")
