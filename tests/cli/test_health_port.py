"""`--health-port`: a worker and a drainer say how they are, for whoever probes them."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from landfast.domain.readiness import Readiness
from landfast.web import probe
from landfast.web.http.listener import listen
from tests.free_port import free_port
from tests.nats import Nats
from tests.patience import PATIENCE_SECONDS
from tests.proxy import Proxy
from tests.shops import ORDER, postgres_shop, sqlite_shop, until


async def ask(port: int, path: str, method: str = "GET", *, host: str = "probe") -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = (await reader.read()).decode()
    finally:
        writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    return (int(head.split()[1]), body) if head else (0, "")


async def is_ready(port: int) -> int:
    try:
        return (await ask(port, "/ready"))[0]
    except OSError:
        return 0


async def inbox_is(port: int) -> str:
    return str(json.loads((await ask(port, "/ready"))[1])["inbox"])


@pytest.mark.req("R11")
async def test_a_worker_says_that_it_is_well_and_ends_with_it(tmp_path: Path) -> None:
    shop, port = sqlite_shop(tmp_path), free_port()
    await shop.create_orders()
    shop.write(ORDER)
    async with shop.serving("--workers", "0") as serve:
        await shop.send(serve, "evt_1")
        async with shop.running("work", "shop.py", "--health-port", str(port)) as worker:
            await until(lambda: is_ready(port), 200)
            assert await ask(port, "/health") == (200, '{"status":"ok"}')
            assert json.loads((await ask(port, "/ready"))[1]) == {"ready": True, "inbox": "ok", "ledger": "ok"}
            assert (await ask(port, "/in/stripe", "POST"))[0] == 404
            assert (await ask(port, "/health", "HEAD")) == (200, "")
            await until(lambda: shop.count(State.DONE), 1)
            worker.terminate()
            assert await worker.wait() == 0
    assert await is_ready(port) == 0


@pytest.mark.long
async def test_a_worker_whose_database_is_away_is_alive_and_not_ready(tmp_path: Path, database: str) -> None:
    direct = database.rpartition(":")[2].partition("/")[0]
    port = free_port()
    async with Proxy(int(direct)).running() as network:
        shop = postgres_shop(tmp_path, database.replace(f":{direct}/", f":{network.port}/"))
        shop.write(ORDER)
        async with shop.running("work", "shop.py", "--health-port", str(port)):
            await until(lambda: is_ready(port), 200)
            network.cut()
            network.hang_up()
            await until(lambda: inbox_is(port), "away", within=PATIENCE_SECONDS)
            assert await is_ready(port) == 503
            assert (await ask(port, "/health"))[0] == 200
            network.mend()
            await until(lambda: is_ready(port), 200, within=PATIENCE_SECONDS)


async def test_a_drainer_says_that_it_is_there(tmp_path: Path) -> None:
    nats, port = Nats(), free_port()
    try:
        nats.start()
        shop = sqlite_shop(tmp_path)
        shop.settings = {"LANDFAST_JOURNAL": f"{nats.url}/landfast?sync=always"}
        shop.write(ORDER)
        async with (
            shop.serving("--role", "intake"),
            shop.running("drain", "shop.py", "--health-port", str(port)) as drainer,
        ):
            await until(lambda: is_ready(port), 200)
            drainer.terminate()
            assert await drainer.wait() == 0
    finally:
        nats.destroy()


async def test_a_port_that_is_taken_is_one_sentence(tmp_path: Path) -> None:
    shop = sqlite_shop(tmp_path)
    shop.write(ORDER)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        code, _, err = await shop.run("work", "shop.py", "--health-port", str(other.getsockname()[1]))
    assert code == 2 and "is in use: stop the other server, or set another --health-port." in err


async def test_whoever_says_too_much_or_nothing_is_hung_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "MOST_CONNECTIONS", 2)
    monkeypatch.setattr(probe, "REQUEST_SECONDS", PATIENCE_SECONDS)
    listener = listen("127.0.0.1", 0)
    port = listener.getsockname()[1]
    async with probe.probed(listener, Readiness):
        with monkeypatch.context() as hurried:
            hurried.setattr(probe, "REQUEST_SECONDS", 0.05)
            for said in (b"", b"GET /health HTTP/1.1\r\n" + b"x" * probe.HEAD_BYTES * 20):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(said)
                try:
                    async with asyncio.timeout(PATIENCE_SECONDS):
                        assert await reader.read() == b""
                except ConnectionError:
                    assert said, "a reset, because it said more than was read"
                writer.close()
        assert (await ask(port, "/health"))[0] == 200
