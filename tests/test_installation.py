"""What a server needs of an installation, and what it says about what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from landfast.domain.lifecycle import State
from tests.hidden import hiding
from tests.shops import ORDER, Shop, sqlite_shop, until


@pytest.fixture
async def shop(tmp_path: Path) -> Shop:
    shop = sqlite_shop(tmp_path)
    await shop.create_orders()
    shop.write(ORDER)
    return shop


async def test_a_server_imports_nothing_of_the_demo(shop: Shop) -> None:
    shop.settings |= hiding("landfast.demo", folder=shop.folder)
    code, _, err = await shop.run("demo", "--help")
    assert code and "landfast.demo" in err  # it is really hidden
    async with shop.serving() as serve:
        assert await shop.send(serve, "evt_1") == 200
        await until(lambda: shop.count(State.DONE), 1)
        assert await serve.stop() == 0
