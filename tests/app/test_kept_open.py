"""Whoever asks much of both databases opens each of them once, and closes it at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from landfast import Inbox
from landfast.app import stores
from landfast.app.full_checkup import examine
from landfast.domain.errors import InboxUnavailableError, LandfastError
from landfast.recovery.doctor import Level
from tests.admin.conftest import shop


@pytest.fixture
async def inbox(tmp_path: Path) -> Inbox:
    made = shop(store=f"sqlite:{tmp_path / 'inbox.db'}", ledger=f"sqlite:{tmp_path / 'ledger.db'}")
    await made.migrate()
    return made


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each was, less how often it was closed, and how often in all."""
    counted: Counter[str] = Counter()
    for name in ("open_inbox", "open_ledger"):
        real = getattr(stores, name)

        @asynccontextmanager
        async def counting(*args: Any, _real: Any = real, _name: str = name, **rest: Any) -> AsyncIterator[Any]:
            async with _real(*args, **rest) as made:
                counted[_name] += 1
                counted["open"] += 1
                yield made
            counted["open"] -= 1

        monkeypatch.setattr(stores, name, counting)
    return counted


async def test_the_doctor_opens_each_database_once(inbox: Inbox, opened: Counter[str]) -> None:
    checks = await examine(inbox)
    assert {"inbox", "ledger", "binding", "alerts"} <= {check.name for check in checks}
    assert all(check.level is not Level.FAIL for check in checks)
    assert opened == {"open_inbox": 1, "open_ledger": 1, "open": 0}


async def test_the_application_itself_is_left_as_it_was(inbox: Inbox, opened: Counter[str]) -> None:
    async with inbox.kept_open() as kept:
        async with kept.archive() as first, kept.archive() as second:
            assert first is second
        async with inbox.archive() as other:
            assert other is not first
        await first.census()  # it is still open
    with pytest.raises(LandfastError):
        await first.census()
    assert opened == {"open_inbox": 2, "open": 0}


async def test_one_that_could_not_be_opened_is_tried_again(inbox: Inbox, tmp_path: Path) -> None:
    file = tmp_path / "inbox.db"
    file.rename(tmp_path / "gone.db")
    file.mkdir()
    async with inbox.kept_open() as kept:
        with pytest.raises((InboxUnavailableError, LandfastError)):
            async with kept.archive():
                pass
        file.rmdir()
        (tmp_path / "gone.db").rename(file)
        async with kept.archive() as archive:
            await archive.census()
