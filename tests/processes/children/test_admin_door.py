"""Handshakes at the admin port: who says nothing has an end, stands in nobody's way, and takes no descriptors."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import pytest
import uvicorn
import uvloop

from landfast.processes.children import admin_door
from landfast.processes.children.admin_door import Doorway
from landfast.processes.children.admin_process import Server
from landfast.processes.children.admin_protocol import AdminProtocol
from tests.alerting.receivers import context, self_signed
from tests.patience import PATIENCE_SECONDS

HEAD = b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


async def app(scope: Any, _receive: Any, send: Any) -> None:
    body = scope["scheme"].encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[tuple[int, Doorway, ssl.SSLContext]]:
    file = self_signed(folder / "tls.pem")
    apart: Any = {"interface": "asgi3", "lifespan": "off", "ws": "none"}
    config = uvicorn.Config(app, http=AdminProtocol, log_config=None, timeout_graceful_shutdown=2, **apart)
    server = Server(config, lambda: None, context(file))
    config.load()
    server.lifespan = config.lifespan_class(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        await server.startup([listener])
        doorway: Any = server.servers[0]
        try:
            yield listener.getsockname()[1], doorway, ssl.create_default_context(cafile=str(file))
        finally:
            await server.shutdown([listener])
            assert not doorway.standing


async def asked(port: int, trusting: ssl.SSLContext) -> bytes:
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        writer.write(HEAD)
        answer = await reader.read()
        writer.close()
    return answer.rpartition(b"\r\n")[2]


class Silent:
    """Connected, and says nothing."""

    def __init__(self, port: int, address: str = "127.0.0.1") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), source_address=(address, 0))
        self._socket.setblocking(False)

    async def ended(self) -> bool:
        """Waits for it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                return await asyncio.get_running_loop().sock_recv(self._socket, 1) == b""
            except ConnectionResetError:
                return True
            finally:
                self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not look():
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def time_to_shake_hands(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the machine stands still."""
    monkeypatch.setattr(admin_door, "HANDSHAKE_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Any], None]:
    def on_loop(test: Any) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(test)

    return on_loop


def test_a_request_over_tls_is_answered(run: Callable[[Any], None], tmp_path: Path) -> None:
    async def test() -> None:
        async with serving(tmp_path) as (port, doorway, trusting):
            assert [await asked(port, trusting) for _ in range(3)] == [b"https"] * 3
            assert not doorway.standing

    run(test())


def test_who_says_nothing_has_an_end(
    run: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        async with serving(tmp_path) as (port, doorway, trusting):
            with monkeypatch.context() as hurried:
                hurried.setattr(admin_door, "HANDSHAKE_SECONDS", 0.2)
                knocking = [Silent(port) for _ in range(3)]
                assert [await each.ended() for each in knocking] == [True] * 3
            await until(lambda: not doorway.standing)
            assert await asked(port, trusting) == b"https"

    run(test())


def test_a_crowd_that_says_nothing_keeps_nobody_out(
    run: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_door, "HANDSHAKES_AT_MOST", 4)

    async def test() -> None:
        async with serving(tmp_path) as (port, doorway, trusting):
            crowd = [Silent(port) for _ in range(20)]
            assert [await each.ended() for each in crowd[:16]] == [True] * 16, "the oldest go"
            assert await asked(port, trusting) == b"https"
            assert len(doorway.standing) <= 4
            for each in crowd[16:]:
                each.__exit__()

    run(test())


def test_one_address_ends_its_own_handshakes_and_those_of_nobody_else(
    run: Callable[[Any], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin_door, "HANDSHAKES_OF_ONE_ADDRESS", 2)

    async def test() -> None:
        async with serving(tmp_path) as (port, doorway, _):
            with Silent(port, "127.0.0.9"):
                await until(lambda: len(doorway.standing) == 1)
                (elsewhere,) = doorway.standing
                many = [Silent(port) for _ in range(9)]
                assert [await each.ended() for each in many[:7]] == [True] * 7
                assert next(iter(doorway.standing)) is elsewhere
                assert len(doorway.standing) == 3
                for each in many[7:]:
                    each.__exit__()

    run(test())


def test_noise_is_no_news(run: Callable[[Any], None], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        async with serving(tmp_path) as (port, doorway, trusting):
            for noise in (HEAD, b"\x16\x03\x01\xff\xff" + bytes(300), b"x"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(noise)
                writer.write_eof()
                async with asyncio.timeout(PATIENCE_SECONDS):
                    await asyncio.gather(reader.read(), return_exceptions=True)
                writer.close()
            await until(lambda: not doorway.standing)
            assert await asked(port, trusting) == b"https"

    run(test())
    assert "Traceback" not in caplog.text
