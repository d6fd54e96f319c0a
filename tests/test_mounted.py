"""The inbox inside a FastAPI application, under a real uvicorn."""

from __future__ import annotations

import asyncio
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from landfast.domain.lifecycle import State
from tests.shops import ORDER, Shop, sqlite_shop, until

HOST = """
from fastapi import FastAPI

@inbox.lifespan
async def worker_is_up():
    pathlib.Path("worker-is-up").touch()
    yield
    pathlib.Path("worker-is-up").unlink()

mounted = inbox.asgi()
app = FastAPI(lifespan=mounted.lifespan)
app.mount("/hooks", mounted)
"""


@asynccontextmanager
async def uvicorn(shop: Shop) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    shop.write(ORDER, HOST)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [sys.executable, "-m", "uvicorn", "shop:app", "--fd", str(listener.fileno())]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=shop.folder, env=shop.env, stdout=PIPE, stderr=STDOUT, pass_fds=[listener.fileno()]
        )
        try:
            yield process, listener.getsockname()[1]
        finally:
            if process.returncode is None:
                process.kill()
                await process.communicate()


async def test_mounted_in_fastapi_the_worker_runs_before_the_first_webhook_and_stops_with_its_host(
    tmp_path: Path,
) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    async with uvicorn(shop) as (process, port):
        await until((tmp_path / "worker-is-up").exists, True)
        sent = await _post(port, shop.sender.delivery(shop.sender.payment("evt_1")))
        assert sent.startswith(b"HTTP/1.1 200")
        await until(lambda: shop.count(State.DONE), 1)
        process.terminate()
        out, _ = await process.communicate()
    assert await shop.orders() == ["evt_1"]
    assert not (tmp_path / "worker-is-up").exists(), out
    assert b"Traceback" not in out


async def test_a_host_with_a_missing_secret_does_not_start_and_says_why(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.settings["STRIPE_WEBHOOK_SECRET"] = ""
    async with asyncio.timeout(30), uvicorn(shop) as (process, _):
        out, _ = await process.communicate()
    assert process.returncode != 0
    assert b"STRIPE_WEBHOOK_SECRET): the secret is empty" in out.splitlines()[-1], out.decode()


async def _post(port: int, request: bytes) -> bytes:
    async with asyncio.timeout(30):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.replace(b"POST /in/", b"POST /hooks/in/"))
        line = await reader.readline()
        writer.close()
        return line
