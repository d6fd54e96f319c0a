"""What systemd hears, and nobody else may say."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from landfast.processes.supervision.systemd import Notices
from tests.shops import ORDER, sqlite_shop, until


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(str(tmp_path / "notify"))
        wire.setblocking(False)
        yield wire


async def test_it_says_that_it_is_ready_reloads_and_stops_and_no_child_can(tmp_path: Path, wire: socket.socket) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER, "    pathlib.Path('env').write_text(str('NOTIFY_SOCKET' in os.environ))\n")
    shop.settings["NOTIFY_SOCKET"] = str(tmp_path / "notify")
    heard: list[str] = []

    def hear() -> list[str]:
        with suppress(BlockingIOError):
            while True:
                heard.append(wire.recv(1024).decode().partition("\n")[0])
        return heard

    async with shop.serving() as serve:
        await until(hear, ["READY=1"])
        os.kill(serve.pid, signal.SIGHUP)
        await until(hear, ["READY=1", "RELOADING=1", "READY=1"])
        await shop.send(serve, "evt_1")
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0
    assert hear()[-1] == "STOPPING=1"
    assert (tmp_path / "env").read_text() == "False"


def test_an_address_that_is_no_file_and_one_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"landfast-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
        wire.bind(f"\0{name}")
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}")
        notices = Notices()
        notices.reloading()
        what, microseconds = wire.recv(1024).decode().split("\n")
        assert what == "RELOADING=1"
        assert int(microseconds.removeprefix("MONOTONIC_USEC=")) > 0
    notices.ready()
    assert "NOTIFY_SOCKET" not in os.environ
    Notices().ready()
