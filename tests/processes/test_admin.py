"""The admin process of `landfast serve`: beside everything else, and in nobody's way."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from tests.cli.test_health_port import ask
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, Shop, sqlite_shop, until


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


@pytest.mark.long
async def test_it_answers_is_replaced_when_it_dies_and_ends_with_the_others(shop: Shop) -> None:
    port = free_port()
    async with shop.serving("--admin-port", str(port)) as serve:
        await serve.until(lambda: bool(serve.pids("admin")), within=PATIENCE_SECONDS)
        status, text = await ask(port, "/api/retention", host=f"127.0.0.1:{port}")
        assert (status, '"receipts"' in text) == (200, True)
        assert (await ask(port, "/api/retention"))[0] == 403  # under another name
        (killed,) = serve.pids("admin")
        os.kill(killed, signal.SIGKILL)
        await serve.until(lambda: any(pid != killed for pid in serve.pids("admin")), within=PATIENCE_SECONDS)
        assert len(serve.pids("intake")) == 1  # nobody else ended
        code, out, _ = await shop.run("tokens", "create", "ci")
        assert code == 0
        assert await serve.stop() == 0
        assert {role: code for role, code in serve.deaths.values() if code == 0}.keys() >= {"admin", "intake", "worker"}
        assert out.strip() not in (shop.folder / "serve.log").read_text()


async def test_a_usual_port_that_is_taken_is_said_and_a_chosen_one_refused(shop: Shop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = await shop.run("serve", "shop.py", "--port", "0", "--admin-port", str(port))
        assert (code, f"Port {port} on 127.0.0.1 is in use" in err, "--admin-port" in err) == (2, True, True)


@pytest.mark.long
async def test_beyond_the_loopback_the_port_is_not_opened_without_a_token(shop: Shop) -> None:
    port = free_port()
    shop.settings["LANDFAST_ADMIN_HOST"] = "0.0.0.0"
    log = shop.folder / "serve.log"
    async with shop.serving("--admin-port", str(port)) as serve:
        await until(lambda: "admin_closed" in log.read_text(), True)
        assert not serve.pids("admin")
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS)
