"""The how-tos for frameworks, under the servers that they name: what a page says to save is saved and served."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import pytest

from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.shops import Shop, until

HOWTO = Path(__file__).resolve().parents[2] / "docs/howto"
UVICORN = ("uvicorn", "app:app", "--fd", "{fd}")
GUNICORN = (
    "gunicorn",
    "app:app",
    "--no-control-socket",
    "--worker-class",
    "gthread",
    "--threads",
    "16",
    "--bind",
    "fd://{fd}",
)


def shop_of(folder: Path, page: str, blocks: Sequence[int]) -> Shop:
    """An application of these blocks of a page, counted from one."""
    written = re.findall(r"```python\n(.*?)```", (HOWTO / page).read_text(), re.DOTALL)
    (folder / "app.py").write_text("\n\n".join(written[number - 1] for number in blocks))
    return Shop(folder, str(folder / "landfast.db"), str(folder / "shop.db"))


@asynccontextmanager
async def served(shop: Shop, server: Sequence[str]) -> AsyncIterator[int]:
    env = {name: value for name, value in shop.env.items() if name != "LANDFAST_LEDGER"}
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = [part.format(fd=listener.fileno()) for part in server]
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *command),
            cwd=shop.folder,
            env=env,
            stdout=PIPE,
            stderr=STDOUT,
            pass_fds=[listener.fileno()],
        )
        try:
            yield listener.getsockname()[1]
        finally:
            process.terminate()
            out, _ = await process.communicate()
            sys.stderr.write(out.decode())
    assert b"Traceback" not in out


async def deliver(shop: Shop, port: int, path: str) -> tuple[int | None, bytes]:
    request = shop.sender.delivery(shop.sender.payment("evt_1")).replace(b"/in/stripe", path.encode(), 1)
    connection = Connection(port)
    try:
        return await connection.send(request), connection.body
    finally:
        connection.close()


def orders(shop: Shop) -> list[str]:
    with closing(sqlite3.connect(shop.ledger)) as db:
        return [row[0] for row in db.execute("SELECT payment FROM orders")]


@pytest.mark.parametrize(
    ("page", "blocks", "server"),
    [
        ("fastapi.md", [1], UVICORN),
        ("fastapi.md", [1, 3], UVICORN),
        ("fastapi.md", [1, 4], UVICORN),
        ("flask.md", [1], GUNICORN),
        ("flask.md", [1, 2], GUNICORN),
    ],
    ids=["FastAPI", "Starlette", "Litestar", "Flask", "DispatcherMiddleware"],
)
async def test_what_a_page_mounts_makes_one_order(
    tmp_path: Path, page: str, blocks: Sequence[int], server: Sequence[str]
) -> None:
    shop = shop_of(tmp_path, page, blocks)
    async with AsyncExitStack() as stack:
        port = await stack.enter_async_context(served(shop, server))
        if server is GUNICORN:
            await stack.enter_async_context(shop.running("work", "app:inbox"))
        for _ in range(2):
            status, _ = await deliver(shop, port, "/hooks/in/stripe")
            assert status == 200
        await until(lambda: shop.count(State.DONE), 1)
    assert orders(shop) == ["pi_1"]


@pytest.mark.parametrize(
    ("blocks", "server"),
    [([1, 2], UVICORN), ([1, 3], UVICORN), ([1, 4], GUNICORN)],
    ids=["FastAPI", "Litestar", "Flask"],
)
async def test_what_the_page_of_the_middleware_guards_is_called_once(
    tmp_path: Path, blocks: Sequence[int], server: Sequence[str]
) -> None:
    shop = shop_of(tmp_path, "middleware.md", blocks)
    async with served(shop, server) as port:
        status, _ = await deliver(shop, port, "/webhooks/stripe")
        assert status in {200, 201}
        status, body = await deliver(shop, port, "/webhooks/stripe")
        assert (status, json.loads(body)["status"]) == (200, "duplicate")
        assert await shop.count(State.DONE) == 1
