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

from landfast.journals.folder import ADOPTED_SEGMENTS, SEGMENTS_AT_MOST
from landfast.web.http import server as server_module
from landfast.web.http.connections import Limits
from landfast.web.http.listener import listen, refuse_newcomers
from landfast.web.http.server import HttpServer
from tests.intake.desk import Desk, body
from tests.patience import PATIENCE_SECONDS
from tests.web.client import Client, Shop

HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
FAR_OFF = 5 * PATIENCE_SECONDS
"""Seconds: a grace that no test lives to see the end of."""
OpenShop = Callable[..., Any]


def test_connections_are_capped_below_the_file_descriptors_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    assert server_module._within_descriptors(Limits()).connections == 832
    assert server_module.SPARE_DESCRIPTORS >= 64 + SEGMENTS_AT_MOST + ADOPTED_SEGMENTS
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """With who is idle; nothing here looks at the clock."""
    monkeypatch.setattr(server_module, "IDLE_SECONDS", 0.05)


@pytest.mark.req("R3")
@pytest.mark.usefixtures("impatient")
async def test_stopping_answers_what_is_in_flight_and_closes_what_is_idle(shop: Shop) -> None:
    shop.desk.recorder.gate.clear()
    idle, busy, starting = [await shop.connect() for _ in range(3)]
    assert (await idle.ask(HEALTH)).status == 200
    await starting.send(shop.post(body(2))[:20])
    await busy.send(shop.post(body(1)))
    await shop.desk.recorder.entered.wait()
    await shop.until(lambda: sum(bool(c._buffer) for c in shop.server.connections.open) == 1)  # type: ignore[attr-defined]
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
    await shop.until(lambda: shop.desk.unproven.total > 0)
    await shop.server.stop(grace=0)
    assert not shop.server.connections.open and shop.desk.is_balanced()


async def test_a_stop_that_is_broken_off_leaves_no_listener_behind(shop: Shop) -> None:
    await shop.connect()
    await shop.server_side()
    refuse_newcomers(shop.listener)
    stopping = asyncio.ensure_future(shop.server.stop(grace=FAR_OFF))
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.wait([stopping])
    await shop.until(lambda: shop.listener.fileno() < 0)


@pytest.mark.req("R3")
@pytest.mark.usefixtures("impatient")
async def test_who_was_never_heard_is_listened_to_when_the_idle_ones_are_gone(shop: Shop) -> None:
    idle, silent = [await shop.connect() for _ in range(2)]
    assert (await idle.ask(HEALTH)).status == 200
    refuse_newcomers(shop.listener)
    stopping = asyncio.ensure_future(shop.server.stop(grace=FAR_OFF))
    assert await idle.rest() == b""
    reply = await silent.ask(shop.post(body()))
    assert reply.status == 200 and reply.closes
    await stopping
    assert shop.desk.count().stored == 1


@pytest.mark.usefixtures("impatient")
async def test_who_never_says_a_word_is_waited_for_as_long_as_for_any_request(shop: Shop) -> None:
    silent = await shop.connect()
    await shop.server_side()
    stopping = asyncio.ensure_future(shop.server.stop(grace=FAR_OFF))
    await asyncio.wait([stopping], timeout=6 * server_module.IDLE_SECONDS)
    assert not stopping.done()
    shop.pass_time(shop.server.connections.limits.request_seconds)
    await stopping
    assert await silent.rest() == b""


async def test_the_sweep_runs_by_itself(open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.01)
    shop = await open_shop()
    client = await shop.connect()
    await shop.server_side()
    shop.time.now += 10
    assert await client.rest() == b""


@pytest.mark.req("R3")
async def test_what_arrived_while_we_were_frozen_is_read_before_its_sender_is_taken_for_late(
    open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that was stopped, or a machine that slept, runs its timers before it reads."""
    monkeypatch.setattr(server_module, "SWEEP_SECONDS", 0.01)
    shop = await open_shop()
    connections = shop.server.connections
    with socket.create_connection(("127.0.0.1", shop.port)) as sender:
        await shop.server_side()

        def freeze() -> float:
            """The sweep looks at the clock, and at that moment the request is in the kernel and its time is over."""
            connections.time = lambda: shop.time.now
            sender.sendall(shop.post(body()))
            shop.time.now += connections.limits.request_seconds
            return float(shop.time.now)

        connections.time = freeze
        client = await shop.connect_by(sender.dup())
        assert (await client.reply()).status == 200


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
    await shop.until(lambda: not shop.server.connections.open)


async def test_plain_bytes_on_a_tls_port_get_no_answer(open_shop: OpenShop, tls: ssl.SSLContext) -> None:
    shop = await open_shop(tls=tls)
    client = await shop.connect()
    await client.send(HEALTH)
    with contextlib.suppress(ConnectionResetError):
        assert b"HTTP/" not in await client.rest()
    assert shop.desk.tally.totals() == {}


@pytest.mark.req("R3")
@pytest.mark.usefixtures("impatient")
async def test_a_tls_handshake_that_has_not_begun_when_we_stop_ends_in_an_answer(
    open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    shop = await open_shop(tls=tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    with socket.create_connection(("127.0.0.1", shop.port)) as silent:
        refuse_newcomers(shop.listener)
        stopping = asyncio.ensure_future(shop.server.stop(grace=FAR_OFF))
        await shop.until(lambda: shop.listener.fileno() < 0)
        await asyncio.wait([stopping], timeout=6 * server_module.IDLE_SECONDS)
        assert not stopping.done(), "it does not count who is in the handshake"
        client = await shop.connect_by(silent.dup(), ssl=trusting, server_hostname="127.0.0.1")
        reply = await client.ask(shop.post(body()))
        assert reply.status == 200 and reply.closes
        await stopping


async def test_a_tls_handshake_that_fails_is_waited_for_no_longer(open_shop: OpenShop, tls: ssl.SSLContext) -> None:
    shop = await open_shop(tls=tls, limits=Limits(handshake_seconds=FAR_OFF))
    client = await shop.connect()
    refuse_newcomers(shop.listener)
    stopping = asyncio.ensure_future(shop.server.stop(grace=FAR_OFF))
    await client.send(HEALTH)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await stopping


async def test_a_tls_handshake_that_outlasts_the_grace_holds_nobody_up(
    open_shop: OpenShop, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_module, "CUT_SECONDS", 0.05)
    shop = await open_shop(tls=tls, limits=Limits(handshake_seconds=FAR_OFF))
    await shop.connect()
    refuse_newcomers(shop.listener)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await shop.server.stop(grace=0.2)


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
    await shop.until(lambda: not shop.server.connections.open)
    shop.desk.recorder.gate.set()
    await shop.desk.group.close()
    assert len(shop.desk.recorder.events) == 1


async def test_handshakes_that_never_end_are_in_the_limit_and_make_room_for_senders(
    open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    shop = await open_shop(tls=tls, limits=Limits(connections=10))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    strangers = [await shop.connect() for _ in range(40)]
    for number in range(3):
        client = await shop.connect(ssl=trusting)
        assert (await client.ask(shop.post(body(number)))).status == 200
    assert len(shop.server.connections.open) <= 10
    gone = [asyncio.ensure_future(stranger.rest()) for stranger in strangers]
    await shop.until(lambda: sum(each.done() for each in gone) == 33)
    for each in gone:
        each.cancel()
    await asyncio.wait(gone)


async def test_a_handshake_ends_at_its_deadline(open_shop: OpenShop, tls: ssl.SSLContext) -> None:
    shop = await open_shop(tls=tls)
    client = await shop.connect()
    await shop.until(lambda: len(shop.server.connections.open) == 1)
    shop.pass_time(shop.server.connections.limits.handshake_seconds)
    assert await client.rest() == b""
    await shop.until(lambda: not shop.server.connections.open)


async def test_when_everybody_is_busy_a_handshake_is_not_begun(
    open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    shop = await open_shop(tls=tls, limits=Limits(connections=1))
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    shop.desk.recorder.gate.clear()
    client = await shop.connect(ssl=trusting)
    await client.send(shop.post(body()))
    await shop.desk.recorder.entered.wait()
    with pytest.raises((ConnectionError, ssl.SSLError)):
        await shop.connect(ssl=trusting)
    shop.desk.recorder.gate.set()
    assert (await client.reply()).status == 200


async def test_without_a_descriptor_left_a_handshake_makes_room(
    open_shop: OpenShop, tls: ssl.SSLContext, authority: trustme.CA
) -> None:
    shop = await open_shop(tls=tls)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)
    for _ in range(4):
        await shop.connect()
    await shop.until(lambda: len(shop.server.connections.open) == 4)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    sender = socket.create_connection(("127.0.0.1", shop.port))
    sender.setblocking(False)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_next_descriptor(), before[1]))
    try:
        client = await shop.connect_by(sender, ssl=trusting, server_hostname="127.0.0.1")
        assert (await client.ask(shop.post(body()))).status == 200
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _next_descriptor() -> int:
    with socket.socket() as probe:
        return probe.fileno()
