"""A hosted inbox that runs, and the folder of a laptop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.free_port import free_port
from tests.listening.hosted import LOCAL_SECRET, Hosted
from tests.patience import PATIENCE_SECONDS
from tests.shops import ORDER, sqlite_shop


@pytest.fixture
async def hosted(tmp_path: Path) -> AsyncIterator[Hosted]:
    for name in ("hosted", "laptop"):
        (tmp_path / name).mkdir()
    shop, port = sqlite_shop(tmp_path / "hosted"), free_port()
    await shop.create_orders()
    shop.write(ORDER)
    async with shop.serving("--admin-port", str(port)) as serve:
        await serve.until(lambda: bool(serve.pids("admin")), within=PATIENCE_SECONDS)
        made = Hosted(shop, serve, port, tmp_path / "laptop")
        made.settings = {
            "INBOX_TOKEN": await made.token("admin"),
            "LOCAL_SECRET": LOCAL_SECRET,
            "XDG_STATE_HOME": str(tmp_path / "state"),
        }
        yield made
