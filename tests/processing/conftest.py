"""The shop on each store."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.app.system_clock import SystemClock
from tests.patience import PATIENCE_SECONDS
from tests.processing.shop import STORES, Shop


@pytest.fixture(autouse=True)
def last_settlements(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that is stopped writes down all that it has done, also on a machine that stands still."""
    monkeypatch.setattr("landfast.processing.worker.LAST_SETTLEMENTS_SECONDS", PATIENCE_SECONDS)


@pytest.fixture(params=STORES)
async def shop(request: pytest.FixtureRequest, tmp_path: Path, migrated_folder: Path) -> AsyncIterator[Shop]:
    if request.param == "sqlite":
        place = str(tmp_path)
        for name in ("inbox.db", "ledger.db"):
            shutil.copy(migrated_folder / name, tmp_path)
    else:
        place = request.getfixturevalue("migrated_database")
    opened = Shop(request.param, place)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def postgres_shop(migrated_database: str) -> AsyncIterator[Shop]:
    opened = Shop("postgres", migrated_database)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def live(shop: Shop) -> Shop:
    """The shop with real time, for what runs until it is stopped."""
    shop.clock = SystemClock()  # type: ignore[assignment]
    shop.inbox._clock = shop.ledger._clock = shop.clock
    return shop
