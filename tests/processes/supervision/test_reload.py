"""SIGHUP: sources and secrets are read anew; what is wrong with them is said, and changes nothing."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
import termios
from asyncio.subprocess import DEVNULL
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.demo.sender import Sender
from landfast.demo.servers import Serve
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.processes.crowd import Crowd
from tests.shops import ORDER, SECRET, Shop, sqlite_shop, until

APP = "import pathlib\nfrom landfast import Inbox\ninbox = Inbox()\n"
TOML = """
[sources.stripe]
provider = "stripe"
secrets = {secrets}
"""
SECOND = """
[sources.second]
provider = "stripe"
secrets = ["file:new"]
"""
NEW = "whsec_the_secret_of_tomorrow"


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    (tmp_path / "old").write_text(SECRET)
    (tmp_path / "new").write_text(NEW)
    (tmp_path / "shop.py").write_text(APP + ORDER)
    (tmp_path / "landfast.toml").write_text(TOML.format(secrets='["file:old"]'))
    return shop


async def test_a_new_secret_and_a_new_source_are_taken_up_and_no_request_is_dropped(shop: Shop) -> None:
    async with shop.serving("--intakes", "2") as serve:
        before = set(serve.processes)
        assert await _send(serve, "evt_new_1", NEW) == 401
        crowd = Crowd(shop, serve.port)
        async with crowd.sending(8):
            await until(lambda: len(crowd.answered) > 50, True)
            (shop.folder / "landfast.toml").write_text(TOML.format(secrets='["file:new", "file:old"]') + SECOND)
            os.kill(serve.pid, signal.SIGHUP)
            await serve.until(lambda: len(serve.processes) == 3 and not before & serve.processes.keys())
            taken = len(crowd.answered)
            await until(lambda: len(crowd.answered) > taken + 50, True)
        assert (crowd.unanswered, crowd.refused, set(crowd.statuses)) == ([], 0, {b"200"})
        assert await _send(serve, "evt_new_2", NEW) == 200
        assert await _send(serve, "evt_1", NEW, path=b"/in/second") == 200
        assert await serve.stop() == 0
    assert "reload_done" in _log(shop)


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            "landfast.toml",
            TOML.format(secrets='["env:NOT_SET"]'),
            "source stripe: secret 1: the environment variable NOT_SET is not set",
        ),
        ("shop.py", "def broken(:", "shop.py, line 1: SyntaxError"),
        ("shop.py", APP + ORDER.replace('"stripe"', '"strip"'), "there is no source 'strip'; did you mean 'stripe'?"),
    ],
)
async def test_what_is_wrong_is_said_in_one_line_and_everything_goes_on_as_before(
    shop: Shop, file: str, text: str, sentence: str
) -> None:
    async with shop.serving() as serve:
        before = dict(serve.processes)
        good = (shop.folder / file).read_text()
        (shop.folder / file).write_text(text)
        os.kill(serve.pid, signal.SIGHUP)
        await until(lambda: "reload_refused" in _log(shop), True)
        (line,) = [line for line in _log(shop).splitlines() if "reload_refused" in line]
        assert "ERROR" in line and "reason=" in line and sentence in line
        assert serve.processes == before
        assert await _send(serve, "evt_1", SECRET) == 200
        await until(lambda: shop.count(State.DONE), 1)

        (shop.folder / file).write_text(good)
        os.kill(serve.pid, signal.SIGHUP)
        await serve.until(lambda: len(serve.processes) == 2 and not before.keys() & serve.processes.keys())
        assert await _send(serve, "evt_2", SECRET) == 200


async def test_a_process_that_does_not_start_in_the_new_way_leaves_the_old_ones_at_work(shop: Shop) -> None:
    """What the trial cannot see: it opens nothing."""
    broken = "\n@inbox.lifespan\nasync def opens():\n    raise RuntimeError('no such CRM')\n    yield\n"
    async with shop.serving() as serve:
        before = dict(serve.processes)
        (shop.folder / "shop.py").write_text(APP + ORDER + broken)
        os.kill(serve.pid, signal.SIGHUP)
        await until(lambda: "reload_broken_off" in _log(shop), True)
        assert serve.processes == before
        assert await _send(serve, "evt_1", SECRET) == 200
        await until(lambda: shop.count(State.DONE), 1)


async def test_what_the_application_starts_while_it_is_loaded_holds_nothing_up(shop: Shop) -> None:
    """A helper process keeps what it inherits open for as long as it lives."""
    helper = "import subprocess, sys\nif '_try' in sys.argv:\n"
    helper += "    pathlib.Path('helper').write_text(str(subprocess.Popen(['sleep', '600']).pid))\n"
    (shop.folder / "shop.py").write_text(APP + helper + ORDER)
    try:
        async with shop.serving() as serve:
            before = set(serve.processes)
            os.kill(serve.pid, signal.SIGHUP)
            await serve.until(lambda: len(serve.processes) == 2 and not before & serve.processes.keys())
            os.kill(int((shop.folder / "helper").read_text()), 0)  # it is there: it was not waited for
    finally:
        os.kill(int((shop.folder / "helper").read_text()), signal.SIGKILL)


async def test_a_terminal_that_is_closed_stops_it(shop: Shop) -> None:
    """The same signal, sent by the kernel because the user has gone."""
    ours, theirs = os.openpty()
    with (shop.folder / "serve.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "landfast", "serve", "shop.py", "--port", "0"),
            cwd=shop.folder,
            env=shop.env,
            stdin=theirs,
            stdout=DEVNULL,
            stderr=log,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(theirs, termios.TIOCSCTTY, 0),
        )
    os.close(theirs)
    try:
        await until(lambda: _log(shop).count("process_ready role="), 2)
        os.close(ours)
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _send(serve: Serve, event: str, secret: str, *, path: bytes = b"/in/stripe") -> int | None:
    sender, connection = Sender(secret), Connection(serve.port)
    try:
        return await connection.send(sender.delivery(sender.payment(event)).replace(b"/in/stripe", path, 1))
    finally:
        connection.close()


def _log(shop: Shop) -> str:
    return (shop.folder / "serve.log").read_text()
