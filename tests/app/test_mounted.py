"""The inbox inside a FastAPI application, under a real uvicorn."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from landfast.domain.lifecycle import State
from tests.patience import PATIENCE_SECONDS
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
async def uvicorn(shop: Shop, *parts: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int]]:
    shop.write(ORDER, *parts, HOST)
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
    async with asyncio.timeout(PATIENCE_SECONDS), uvicorn(shop) as (process, _):
        out, _ = await process.communicate()
    assert process.returncode != 0
    assert b"STRIPE_WEBHOOK_SECRET): the secret is empty" in out.splitlines()[-1], out.decode()


HANGING = """
import landfast.processing.invoke
landfast.processing.invoke.CANCEL_GRACE_SECONDS = 0.1

@inbox.on("stripe", "hangs.on.the.loop", deadline=3.0, attempts=1)
async def on_the_loop(event, tx):
    await tx.execute("INSERT INTO orders (event_key) VALUES ('never')")
    while not pathlib.Path("open").exists():
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            pass

@inbox.on("stripe", "hangs.in.a.thread", deadline=3.0, attempts=1)
def in_a_thread(event, tx):
    tx.execute("INSERT INTO orders (event_key) VALUES ('never')")
    threading.Event().wait()
"""


async def test_a_handler_that_hangs_does_not_end_its_host_nor_keep_others_waiting(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    async with uvicorn(shop, HANGING) as (process, port):
        for number, kind in enumerate(["hangs.on.the.loop", "hangs.in.a.thread"]):
            assert await _deliver(shop, port, f"evt_{number}", kind) == 200
        await until(lambda: shop.count(State.DEAD), 2)
        await until(lambda: _ready(port), {"hanging handlers": "2"})
        assert await _deliver(shop, port, "evt_good") == 200
        await until(lambda: shop.count(State.DONE), 1)
        (tmp_path / "open").touch()
        process.terminate()
        async with asyncio.timeout(PATIENCE_SECONDS):
            out, _ = await process.communicate()
    assert await shop.orders() == ["evt_good"]
    assert process.returncode in (0, -signal.SIGTERM), out.decode()  # uvicorn sends it to itself again, or not
    assert out.count(b"handler_left_behind") == 2 and b":26 in_a_thread" in out, out.decode()


FULL = """
import landfast.app.mounted_worker, landfast.processing.invoke
landfast.app.mounted_worker.LEFT_BEHIND_AT_MOST = 1
landfast.processing.invoke.CANCEL_GRACE_SECONDS = 0.1

@inbox.on("stripe", "hangs.in.a.thread", deadline=0.1, attempts=1)
def in_a_thread(event, tx):
    while not pathlib.Path("open").exists():
        threading.Event().wait(0.01)
"""


async def test_with_too_many_hanging_handlers_processing_waits_until_some_end_and_intake_goes_on(
    tmp_path: Path,
) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    async with uvicorn(shop, FULL) as (process, port):
        assert await _deliver(shop, port, "evt_hangs", "hangs.in.a.thread") == 200
        await until(lambda: _ready(port), {"worker": "not running", "hanging handlers": "1"})
        assert await _deliver(shop, port, "evt_good") == 200
        assert await shop.count(State.DONE) == 0
        (tmp_path / "open").touch()
        await until(lambda: shop.count(State.DONE), 1)
        assert await _ready(port) == {}
        process.terminate()
        out, _ = await process.communicate()
    assert b"processing_stopped" in out, out.decode()


FAILING = """
from landfast.processing.worker import Worker

async def fails_when_told(worker, listen=Worker._listen):
    waiting = asyncio.ensure_future(listen(worker))
    while not pathlib.Path("fail").exists():
        await asyncio.sleep(0.01)
    waiting.cancel()
    pathlib.Path("fail").rename("failed")
    raise RuntimeError("a bug")

Worker._listen = fails_when_told

@inbox.lifespan
async def starts_again_when_told():
    while pathlib.Path("failed").exists() and not pathlib.Path("again").exists():
        await asyncio.sleep(0.01)
    yield
"""


async def test_a_worker_that_failed_starts_again_by_itself_and_intake_goes_on_serving(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    async with uvicorn(shop, FAILING) as (process, port):
        await until((tmp_path / "worker-is-up").exists, True)
        assert await _deliver(shop, port, "evt_1") == 200
        (tmp_path / "fail").touch()
        await until(lambda: _ready(port), {"worker": "not running"})
        assert await _deliver(shop, port, "evt_2") == 200
        (tmp_path / "again").touch()
        await until(lambda: shop.count(State.DONE), 2)
        assert await _ready(port) == {}
        process.terminate()
        out, _ = await process.communicate()
    assert b"worker_failed retry_seconds=1" in out, out.decode()
    assert not (tmp_path / "worker-is-up").exists()


async def _deliver(shop: Shop, port: int, event: str, kind: str = "payment_intent.succeeded") -> int:
    body = shop.sender.payment(event).replace(b"payment_intent.succeeded", kind.encode())
    return int((await _post(port, shop.sender.delivery(body))).split()[1])


async def _ready(port: int) -> dict[str, str]:
    """What `/ready` says about the worker."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /hooks/ready HTTP/1.1\r\nhost: shop\r\nconnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
    said = json.loads(answer.partition(b"\r\n\r\n")[2])
    return {name: text for name, text in said.items() if name in ("worker", "hanging handlers")}


async def _post(port: int, request: bytes) -> bytes:
    async with asyncio.timeout(PATIENCE_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request.replace(b"POST /in/", b"POST /hooks/in/"))
        line = await reader.readline()
        writer.close()
        return line
