"""Real stores, a clock in hand, and events brought to where a test needs them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from landfast.inboxes.sqlite import SqliteInbox
from landfast.ledgers.sqlite import SqliteLedger
from landfast.testing.clock import ManualClock, SeededChance


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqliteInbox]:
    inbox = SqliteInbox(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    yield inbox
    await inbox.close()


@pytest.fixture
async def ledger(tmp_path: Path, clock: ManualClock) -> AsyncIterator[SqliteLedger]:
    ledger = SqliteLedger(str(tmp_path / "ledger.db"), clock=clock, chance=SeededChance(1))
    await ledger.open()
    await ledger.migrate()
    yield ledger
    await ledger.close()
