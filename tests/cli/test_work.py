"""`landfast work`: a worker alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.shops import ORDER, Shop, sqlite_shop, until


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


async def test_a_worker_alone_runs_what_was_taken_in_and_stops_on_sigterm(shop: Shop) -> None:
    async with shop.serving("--workers", "0") as serve:
        await shop.send(serve, "evt_1")
        async with shop.running("work", "shop.py", "--worker-id", "00112233445566aa") as process:
            assert process.stdout is not None
            ready = (await process.stdout.readline()).decode()
            assert f"worker {process.pid} is ready; handlers: create_order" in ready
            await until(lambda: shop.count(State.DONE), 1)
            process.terminate()
            assert await process.wait() == 0
    assert await shop.orders() == ["evt_1"]


async def test_a_worker_alone_says_in_json_that_it_is_ready(shop: Shop) -> None:
    async with shop.running("work", "shop.py", "--json") as process:
        assert process.stdout is not None
        assert json.loads(await process.stdout.readline()) == {"ready": True, "pid": process.pid}


async def test_a_worker_id_that_is_none_is_refused(shop: Shop) -> None:
    for text in ("xyz", "0011"):
        code, _, err = await shop.run("work", "shop.py", "--worker-id", text)
        assert code == 2
        assert "16 hex digits" in err
