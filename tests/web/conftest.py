"""A real server on a port of its own, on the event loop that serves in production."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest
import uvloop

from tests.web.client import Shop

OF_PROCESSES = {"test_running_server.py", "test_crowds.py"}


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    if item.path.name in OF_PROCESSES:  # their server is another process, and uvloop cannot start that one
        return {"asyncio": asyncio.new_event_loop}
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def shop() -> AsyncIterator[Shop]:
    shop = Shop()
    await shop.open()
    yield shop
    await shop.close()


@pytest.fixture
async def open_shop() -> AsyncIterator[Callable[..., Any]]:
    """For tests that want another limit: `await open_shop(limits=...)`."""
    shops: list[Shop] = []

    async def open_one(**options: Any) -> Shop:
        shops.append(Shop(**options))
        await shops[-1].open()
        return shops[-1]

    yield open_one
    for shop in shops:
        await shop.close()
