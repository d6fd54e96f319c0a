"""What deploy/compose.yaml runs, without its containers: the same settings, handlers and roles against real servers."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.deploy.test_deploy import DEPLOY, ROLES, compose
from tests.nats import Nats
from tests.shops import SECRET, Shop, postgres_shop, until
from tests.valkey import Valkey


@pytest.fixture
def nats() -> Iterator[Nats]:
    server = Nats()
    try:
        server.start()
        yield server
    finally:
        server.destroy()


@pytest.fixture
def valkey() -> Iterator[Valkey]:
    server = Valkey()
    try:
        server.start()
        yield server
    finally:
        server.destroy()


@pytest.fixture
def shop(tmp_path: Path, database: str, nats: Nats, valkey: Valkey) -> Shop:
    for name in ("landfast.toml", "handlers.py"):
        shutil.copy(DEPLOY / name, tmp_path)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/stripe").write_text(SECRET)
    shop = postgres_shop(tmp_path, database)
    shop.settings = {
        "LANDFAST_REDIS": valkey.address,
        "LANDFAST_JOURNAL": f"{nats.url}/landfast?sync=always",
        "LANDFAST_SPOOL": str(tmp_path / "spool"),
        "LANDFAST_SPOOL_ANYWHERE": "true",
        "LANDFAST_HOST": "127.0.0.1",
    }
    return shop


def is_healthy(port: int) -> bool:
    """As the image asks."""
    check = (DEPLOY / "Dockerfile").read_text().partition('"-c", "')[2].partition('"')[0]
    assert ":8420/" in check
    asked = subprocess.run([sys.executable, "-c", check.replace("8420", str(port))], check=False)
    return asked.returncode == 0


@pytest.mark.req("R55")
async def test_an_intake_a_drainer_and_a_worker_apart_make_one_order_of_a_payment(shop: Shop) -> None:
    commands = [service["command"] for name, service in compose()["services"].items() if name in ROLES]
    assert ["serve", "--role", "intake"] in commands
    async with (
        shop.serving("--role", "intake", app="handlers:inbox") as intake,
        shop.serving("--role", "drainer", app="handlers:inbox") as drainer,
        shop.serving("--role", "worker", app="handlers:inbox") as worker,
    ):
        assert await shop.send(intake, "evt_1") == 200
        assert await shop.send(intake, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert is_healthy(intake.port)
        for serve in (intake, drainer, worker):
            assert await serve.stop() == 0
    assert len(await shop._query("SELECT payment FROM orders")) == 1
