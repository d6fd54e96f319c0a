"""What deploy/kubernetes runs, without a cluster: the Job, then an intake and a worker as their manifests start them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from landfast.demo.load import Connection
from landfast.domain.lifecycle import State
from tests.cli.test_health_port import ask
from tests.deploy.test_deploy import DEPLOY
from tests.deploy.test_kubernetes import PODS, container_of
from tests.free_port import free_port
from tests.patience import PATIENCE_SECONDS
from tests.shops import SECRET, Shop, postgres_shop, until


@pytest.fixture
def shop(tmp_path: Path, database: str) -> Shop:
    """The user's image: handlers and settings in its folder, the secret mounted as a file."""
    shutil.copy(DEPLOY / "handlers.py", tmp_path)
    settings = (DEPLOY / "landfast.toml").read_text().replace('spool = "', '# spool = "')
    (tmp_path / "landfast.toml").write_text(settings)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets/stripe").write_text(SECRET)
    return postgres_shop(tmp_path, database)


@asynccontextmanager
async def pod(shop: Shop, container: dict[str, Any]) -> AsyncIterator[int]:
    """Its process, once it is ready; the port that its probes ask. It ends as the kubelet ends it."""
    declared, metrics = container["ports"]
    port = free_port()
    ports = {declared["containerPort"]: str(port), metrics["containerPort"]: str(free_port())}
    args = [ports.get(word, word) for word in container["args"]]
    asked = {name: container[f"{name}Probe"]["httpGet"]["path"] for name in ("startup", "readiness", "liveness")}
    async with shop.running(*args) as process:
        for path in asked.values():
            await until(lambda path=path: status(port, path), 200, within=PATIENCE_SECONDS)  # type: ignore[misc]
        yield port
        process.terminate()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await process.wait() == 0


async def status(port: int, path: str) -> int:
    try:
        return (await ask(port, path))[0]
    except OSError:
        return 0


@pytest.mark.long
async def test_the_job_an_intake_and_a_worker_make_one_order_of_a_payment(shop: Shop) -> None:
    job, intake, worker = (
        container_of(PODS[name])
        for name in ("Job landfast-migrate", "Deployment landfast-intake", "Deployment landfast-worker")
    )
    code, out, err = await shop.run(*job["args"])
    assert code == 0, out + err
    async with pod(shop, intake) as port, pod(shop, worker):
        connection = Connection(port)
        delivery = shop.sender.delivery(shop.sender.payment("evt_1"))
        assert [await connection.send(delivery), await connection.send(delivery)] == [200, 200]
        connection.close()
        await until(lambda: shop.count(State.DONE), 1)
    assert len(await shop._query("SELECT payment FROM orders")) == 1
