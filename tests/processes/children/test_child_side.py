"""What runs inside a child: its lifeline and its watchdog."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from pathlib import Path

import pytest

from landfast.domain.errors import ConfigError
from landfast.processes import tls
from landfast.processes.children.lifeline import Lifeline
from landfast.processes.children.watchdog import Watchdog
from landfast.processes.supervision import changed_files
from tests.patience import PATIENCE_SECONDS


def test_the_end_of_the_supervisor_ends_the_child_first_gently_then_by_force() -> None:
    ours, theirs = socket.socketpair()
    sent: list[int] = []
    lifeline = Lifeline(theirs.detach(), end=sent.append, grace=0.01)
    ours.close()
    lifeline.watch()
    assert sent == [signal.SIGTERM, signal.SIGKILL]


def test_a_child_that_stops_in_time_is_not_killed() -> None:
    ours, theirs = socket.socketpair()
    sent: list[int] = []
    lifeline = Lifeline(theirs.detach(), end=sent.append, grace=60)
    lifeline.let_go()
    ours.close()
    lifeline.watch()
    assert sent == [signal.SIGTERM]


def test_saying_ready_to_a_supervisor_that_is_gone_is_no_error() -> None:
    ours, theirs = socket.socketpair()
    lifeline = Lifeline(theirs.detach(), end=lambda _: None, grace=0)
    lifeline.say_ready()
    assert ours.recv(8) == b"!"
    ours.close()
    lifeline.say_ready()
    lifeline.watch()


def test_a_process_that_a_handler_starts_does_not_inherit_the_lifeline() -> None:
    ours, theirs = socket.socketpair()
    theirs.set_inheritable(True)
    fd = theirs.detach()
    lifeline = Lifeline(fd, end=lambda _: None, grace=0)
    assert not os.get_inheritable(fd)
    ours.close()
    lifeline.watch()


async def test_a_loop_that_turns_is_left_alone_and_one_that_stands_still_is_killed() -> None:
    kills: list[bool] = []
    watchdog = Watchdog(patience=3, kill=lambda: kills.append(True))
    for _ in range(10):
        beating = asyncio.create_task(watchdog.beat())
        await asyncio.sleep(0)
        watchdog.look()
        beating.cancel()
    assert kills == []
    for _ in range(3):
        watchdog.look()
    assert kills == [], "its deadline may not be over yet"
    watchdog.look()
    assert kills == [True]


@pytest.mark.parametrize("name", ["shop.py", "landfast.toml", "package/part.py"])
async def test_a_saved_file_of_the_application_is_noticed(tmp_path: Path, name: str) -> None:
    (tmp_path / "package").mkdir()
    before = changed_files.snapshot(tmp_path)
    (tmp_path / name).write_text("x = 1")
    async with asyncio.timeout(PATIENCE_SECONDS):
        after = await changed_files.wait_for_change(tmp_path, before)
    assert list(after) == [tmp_path / name]


@pytest.mark.parametrize("name", ["landfast.db", ".venv/part.py", "node_modules/x.py", "notes.txt"])
def test_other_files_are_not(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x = 1")
    assert changed_files.snapshot(tmp_path) == {}


def test_tls_files_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    assert tls.context(None, None) is None
    with pytest.raises(ConfigError, match="--tls-key is given without --tls-cert"):
        tls.context(None, tmp_path / "key.pem")
    with pytest.raises(ConfigError, match="not there"):
        tls.context(tmp_path / "cert.pem", None)
    (tmp_path / "cert.pem").write_text("not a certificate")
    with pytest.raises(ConfigError, match="cannot be used"):
        tls.context(tmp_path / "cert.pem", None)
