"""Listening, TLS and an orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import ssl
from collections.abc import Callable
from typing import Any

import pytest
import trustme

from landfast.domain.errors import ConfigError
from landfast.journals.folder import ADOPTED, SEGMENTS
from landfast.web.http import server as server_module
from landfast.web.http.front import Limits
from landfast.web.http.server import HttpServer, listen
from tests.intake.desk import Desk, body
from tests.web.client import Client, Shop

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
OpenShop = Callable[..., Any]


def test_a_second_server_on_the_same_port_is_refused_with_the_port_and_the_fix() -> None:
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(ConfigError, match=rf"Port {port} on 127\.0\.0\.1 is in use: .*another `port`"):
            listen("127.0.0.1", port)


def test_a_port_can_be_taken_again_at_once_after_its_server_is_gone() -> None:
    first = listen("127.0.0.1", 0)
    port = first.getsockname()[1]
    first.close()
    listen("127.0.0.1", port).close()


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_a_host_that_is_not_this_machine_is_refused_with_a_sentence(host: str) -> None:
    with pytest.raises(ConfigError, match=r"`host`"):
        listen(host, 0)


def test_a_port_that_needs_privileges_is_refused_with_a_sentence() -> None:
    assert "above 1023" in server_module._why_not(PermissionError(13, "Permission denied"), "127.0.0.1", 80)


def test_connections_are_capped_below_the_file_descriptors_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert server_module._within_descriptors(Limits()).connections == 832
    assert server_module.SPARE_DESCRIPTORS >= 64 + SEGMENTS + ADOPTED
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert server_module._within_descriptors(Limits()).connections == 128
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert server_module._within_descriptors(Limits()).connections == 10_000


async def test_the_listening_socket_may_come_as_a_descriptor_from_another_process() -> None:
    desk = Desk()
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    server = HttpServer(desk.intake)
    await server.start(listener.detach())
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    assert (await client.ask(HEALTH)).status == 200
    client.writer.close()
    await client.writer.wait_closed()
    await server.stop()


async def test_two_servers_can_share_one_listening_socket() -> None:
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    first, second = HttpServer(Desk().intake), HttpServer(Desk().intake)
    await second.start(listener.dup())
    await first.start(listener)
    await first.stop()
    client = Client(*await asyncio.open_connection("127.0.0.1", port))
    assert (await client.ask(HEALTH)).status == 200
    client.writer.close()
    await client.writer.wait_closed()
    await second.stop()


@pytest.mark.req("R3")
async def test_stopping_answers_what_is_in_flight_and_closes_what_is_idle(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    idle, busy, starting = [await shop.connect() for _ in range(3)]
    assert (await idle.ask(HEALTH)).status == 200
    await starting.send(shop.post(body(2))[:20])
    await busy.send(shop.post(body(1)))
    await shop.desk.recorder.entered.wait()
    await shop.until(lambda: sum(bool(c._buffer) for c in shop.server.front.connections) == 1)  # type: ignore[attr-defined]
    stopping = asyncio.ensure_future(shop.server.stop(grace=5))
    assert await idle.rest() == b""
    with pytest.raises(ConnectionRefusedError):
        await shop.connect()
    shop.desk.recorder.gate.set()
    for client, rest in ((busy, b""), (starting, shop.post(body(2))[20:])):
        reply = await client.ask(rest)
        assert reply.status == 200 and reply.closes
    await stopping
    assert shop.desk.count().stored == 2


async def test_what_does_not_end_within_the_grace_time_is_cut(shop: Shop) -> None:
    client = await shop.connect()
    await client.send(shop.post(body())[:-10])
    await shop.until(lambda: shop.server.front.arriving > 0)
    await shop.server.stop(grace=0)
    assert not shop.server.front.connections and shop.desk.is_balanced()


async def test_a_connection_accepted_while_stopping_is_closed(shop: Shop) -> None:
    shop.server.front.drain()
    client = await shop.connect()
    assert await client.rest() == b""


async def test_the_sweep_runs_by_itself(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.0)
    client = await shop.connect()
    await shop.server_side()
    shop.time.now += 10
    shop.server._sweep_again()
    assert await client.rest() == b""
    monkeypatch.setattr(server_module, "SWEEP_SECONDS", 60.0)
    await asyncio.sleep(0)


@pytest.fixture
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def tls(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return context


async def test_tls_by_context(open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA) -> None:
    shop = await open_shop(tls=tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    client = await shop.connect(ssl=trusting)
    assert (await client.ask(shop.post(body()))).status == 200
    reply = await client.ask(b"nonsense\r\n\r\n")
    assert reply.status == 400 and reply.closes
    shop.pass_time(2)
    await shop.until(lambda: not shop.server.front.connections)


async def test_plain_bytes_on_a_tls_port_get_no_answer(open_shop: OpenShop, tls: ssl.SSLContext) -> None:
    shop = await open_shop(tls=tls)
    client = await shop.connect()
    await client.send(HEALTH)
    with contextlib.suppress(ConnectionResetError):
        assert b"HTTP/" not in await client.rest()
    assert shop.desk.tally.totals() == {}


@pytest.mark.req("R3")
async def test_over_tls_a_client_that_ends_early_still_has_its_event_stored(
    open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    shop = await open_shop(tls=tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    shop.desk.recorder.gate.clear()
    client = await shop.connect(ssl=trusting)
    await client.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    client.writer.close()
    await shop.until(lambda: not shop.server.front.connections)
    shop.desk.recorder.gate.set()
    await shop.desk.group.close()
    assert len(shop.desk.recorder.events) == 1


def test_listening_needs_no_blocking_socket() -> None:
    with listen("localhost", 0) as listener:
        assert not listener.getblocking()
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)
