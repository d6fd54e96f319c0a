"""Process 1 of a container: it buries orphans, passes signals on, and ends as the server ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, sqlite_shop, until

INIT = """
import ctypes, os, signal, sys
from landfast.processes import process_one
PR_SET_CHILD_SUBREAPER = 36
assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
process_one.split()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
signal.signal(signal.SIGHUP, lambda *_: print("hup", flush=True))
middle = os.fork()
if not middle:
    orphan = os.fork()
    if not orphan:
        os._exit(0)
    print(orphan, flush=True)
    os._exit(0)
os.waitpid(middle, 0)
print(os.getpid(), flush=True)
while True:
    signal.pause()
"""


@asynccontextmanager
async def init() -> AsyncIterator[tuple[asyncio.subprocess.Process, int, int]]:
    """An init with a server below it that has left an orphan: the process, the server and the orphan."""
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", INIT, stdout=PIPE)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            orphan, server = int(await process.stdout.readline()), int(await process.stdout.readline())
        yield process, server, orphan
    finally:
        if process.returncode is None:
            process.kill()
            os.kill(server, signal.SIGKILL)
        await process.communicate()


async def test_an_orphan_is_buried() -> None:
    async with init() as (process, server, orphan):
        assert server != process.pid
        await until(Path(f"/proc/{orphan}").exists, False)
        os.kill(server, 0)  # is there


async def test_signals_are_passed_on_and_the_exit_code_comes_back() -> None:
    async with init() as (process, _, _):
        assert process.stdout is not None
        process.send_signal(signal.SIGHUP)
        assert await process.stdout.readline() == b"hup\n"
        process.send_signal(signal.SIGTERM)
        assert await process.wait() == 7


async def test_a_server_that_is_killed_is_told_as_shells_do() -> None:
    async with init() as (process, server, _):
        os.kill(server, signal.SIGKILL)
        assert await process.wait() == 128 + signal.SIGKILL


async def test_the_server_has_a_group_of_its_own_so_that_ctrl_c_comes_once() -> None:
    async with init() as (process, server, _):
        assert os.getpgid(server) == server != os.getpgid(process.pid)


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write("import subprocess\n", ORDER, "    subprocess.run(['sh', '-c', 'true & true'])\n")
    return shop


def _namespaces_are_allowed() -> bool:
    try:
        tried = subprocess.run(["unshare", "--pid", "--fork", "true"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return tried.returncode == 0


async def test_serve_works_as_process_1_of_a_namespace(shop: Shop) -> None:
    if not _namespaces_are_allowed():
        pytest.skip("namespaces are not allowed here; the tests above need none")
    command = ["unshare", "--pid", "--fork", "--kill-child", sys.executable, "-m", "landfast"]
    process = await asyncio.create_subprocess_exec(
        *command, "serve", "shop.py", "--port", "0", "--json", cwd=shop.folder, env=shop.env, stdout=PIPE
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "port" not in (news := json.loads(await process.stdout.readline())):
                pass
            connection = Connection(news["port"])
            assert await connection.send(shop.sender.delivery(shop.sender.payment("evt_1"))) == 200
            connection.close()
            await until(lambda: shop.count(State.DONE), 1)
            (first,) = _children(process.pid)
            (server,) = _children(first)
            assert len(_children(server)) == 2
            os.kill(first, signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()
    assert await shop.orders() == ["evt_1"]


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
