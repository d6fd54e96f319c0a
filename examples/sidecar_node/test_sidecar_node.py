"""The sidecar in front of a service in Node: no Python application at all, and one order for each payment."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.examples.storm import PATIENCE, Example

SERVE = ["-m", "landfast", "serve", "--port", "{port}"]
NODE = shutil.which("node")
SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="  # noqa: S105 - of the test


@asynccontextmanager
async def service(shop: Example) -> AsyncIterator[None]:
    """The server of the example, up."""
    port = shop.env["PORT"]
    process = await asyncio.create_subprocess_exec(str(NODE), "server.mjs", cwd=shop.folder, env=shop.env)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                try:
                    (await asyncio.open_connection("127.0.0.1", int(port)))[1].close()
                    break
                except ConnectionError:
                    await asyncio.sleep(0.05)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        await process.wait()


def sidecar(tmp_path: Path) -> Example:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shop = Example(
        "sidecar_node", tmp_path, store=str(tmp_path / "landfast.db"), env={"FORWARD_SECRET": SECRET, "PORT": port}
    )
    settings = shop.folder / "landfast.toml"
    settings.write_text(settings.read_text().replace("8430", port))
    return shop


def orders(shop: Example) -> list[str]:
    file = shop.folder / "orders.ndjson"
    return [json.loads(line)["payment"] for line in file.read_text().splitlines()] if file.exists() else []


@pytest.mark.long
@pytest.mark.skipif(NODE is None, reason="node is not installed")
async def test_a_service_in_node_makes_one_order_of_each_payment_over_kills_and_its_own_outage(tmp_path: Path) -> None:
    shop = sidecar(tmp_path)
    async with shop.running(SERVE):
        await shop.deliver("evt_storm0")  # nobody listens yet: it waits, and loses no attempt
        async with service(shop):
            await shop.storm(lambda: orders(shop))
