"""Where the settings say that deliveries become durable: in the inbox, and where it cannot, elsewhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from landfast.app.stores import InboxStore
from landfast.config import Settings
from landfast.domain.ids import BootId
from landfast.intake.tally import Tally
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal
from landfast.ports.seen import Seen


@asynccontextmanager
async def journaled(
    settings: Settings,
    inbox: InboxStore,
    *,
    boot: BootId,
    clock: Clock,
    seen: Seen,
    tally: Tally,  # noqa: ARG001
) -> AsyncIterator[Journal]:
    yield inbox
