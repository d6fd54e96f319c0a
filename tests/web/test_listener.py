"""Opening a listening socket, and closing it without turning anybody away."""

from __future__ import annotations

import asyncio
import errno
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError
from landfast.web.http import listener as module
from landfast.web.http.listener import listen, refuse_newcomers, see_in_the_last
from tests.handshakes import begin_to_connect, handshakes, is_connected, let_through
from tests.patience import PATIENCE_SECONDS

FAR_OFF = 5 * PATIENCE_SECONDS


@pytest.fixture(params=["127.0.0.1", "::1"])
def listener(request: pytest.FixtureRequest) -> Iterator[socket.socket]:
    with listen(request.param, 0) as listener:
        yield listener


@pytest.fixture
def loopback() -> Iterator[socket.socket]:
    with listen("127.0.0.1", 0) as listener:
        yield listener


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
    assert "above 1023" in module._why_not(PermissionError(13, "Permission denied"), "127.0.0.1", 80)


def test_listening_needs_no_blocking_socket() -> None:
    with listen("localhost", 0) as listener:
        assert not listener.getblocking()
        assert not listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)


def test_who_has_connected_can_still_be_accepted_and_who_comes_later_is_refused(listener: socket.socket) -> None:
    address = listener.getsockname()
    with socket.create_connection(address[:2]) as early, socket.socket(listener.family) as late:
        early.sendall(b"here before")
        refuse_newcomers(listener)
        late.setblocking(False)
        assert late.connect_ex(address) == errno.EINPROGRESS
        accepted, _ = listener.accept()
        assert accepted.recv(64) == b"here before"
        with pytest.raises(BlockingIOError):
            listener.accept()
        accepted.close()
        listener.close()
        assert select.select([], [late], [], PATIENCE_SECONDS)[1], "it knocks again after a second, and is told"
        assert late.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED


@pytest.fixture
def far_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits for handshakes waits for longer than the test."""
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", FAR_OFF)


@pytest.mark.req("R3")
@pytest.mark.usefixtures("far_off")
async def test_a_handshake_that_had_begun_is_waited_for_and_the_sender_is_heard(loopback: socket.socket) -> None:
    port = loopback.getsockname()[1]
    with begin_to_connect(port) as sender:
        assert handshakes(port) == 1, "void: it has not begun"
        refuse_newcomers(loopback)
        seeing_in = asyncio.ensure_future(see_in_the_last(loopback, within=FAR_OFF))
        done, _ = await asyncio.wait([seeing_in], timeout=5 * module.LOOK_SECONDS)
        assert not done, "somebody is about to come"
        let_through(sender)
        assert await asyncio.to_thread(is_connected, sender, within=PATIENCE_SECONDS)
        sender.sendall(b"from far away")
        async with asyncio.timeout(PATIENCE_SECONDS):
            accepted, _ = await asyncio.get_running_loop().sock_accept(loopback)
            await seeing_in
            with accepted:
                assert await asyncio.get_running_loop().sock_recv(accepted, 64) == b"from far away"


async def test_a_sender_that_never_completes_its_handshake_is_waited_for_only_so_long(
    loopback: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 0.1)
    with begin_to_connect(loopback.getsockname()[1]):
        refuse_newcomers(loopback)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await see_in_the_last(loopback, within=FAR_OFF)


@pytest.mark.usefixtures("far_off")
async def test_where_nobody_is_about_to_come_it_takes_two_looks(listener: socket.socket) -> None:
    refuse_newcomers(listener)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await see_in_the_last(listener, within=FAR_OFF)


@pytest.mark.usefixtures("far_off")
async def test_where_newcomers_are_not_refused_it_leaves_them_to_others(loopback: socket.socket) -> None:
    with begin_to_connect(loopback.getsockname()[1]), socket.create_connection(loopback.getsockname()):
        async with asyncio.timeout(PATIENCE_SECONDS):
            await see_in_the_last(loopback, within=FAR_OFF)


async def test_a_kernel_that_shows_no_handshakes_is_given_the_whole_time(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_TCP_TABLES", dict.fromkeys(module._TCP_TABLES, Path("/proc/none")))
    monkeypatch.setattr(module, "HANDSHAKE_SECONDS", 0.2)
    now = asyncio.get_running_loop().time
    refuse_newcomers(listener)
    began = now()
    await see_in_the_last(listener, within=FAR_OFF)
    assert now() - began >= 0.2
