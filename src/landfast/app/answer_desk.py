"""The desk at which callers of endpoints wait for their answers. It reads the ledger, and nobody but these callers
waits for that: an intake without endpoints never opens it, and webhooks are taken in without it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from landfast.app.stores import make_ledger, prepare
from landfast.config import Settings
from landfast.domain.errors import LedgerUnavailableError
from landfast.domain.ids import ReceiptDigest
from landfast.domain.outcome import Receipt
from landfast.intake.endpoints.desk import AnswerDesk
from landfast.intake.endpoints.stored_answers import StoredAnswers
from landfast.intake.source import Source
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.ports.wakeup import Wakeup
from landfast.sealing import Seal

REOPEN_SECONDS = 1.0
"""Between two attempts to open a ledger that is away, or that no worker has made yet."""


class LateReceipts:
    """The receipts of a ledger that is opened when somebody asks for one."""

    def __init__(self, settings: Settings, clock: Clock, chance: Chance, seal: Seal) -> None:
        self._settings, self._clock, self._chance, self._seal = settings, clock, chance, seal
        self._ledger: Ledger | None = None
        self._opening: asyncio.Task[Ledger] | None = None
        self._next_try = 0.0

    async def receipts(self, digests: Sequence[ReceiptDigest]) -> Sequence[Receipt]:
        if not digests:
            return ()
        return await (self._ledger or await self._opened()).receipts(digests)

    async def close(self) -> None:
        if self._opening is not None:
            await asyncio.wait([self._opening])
        if self._ledger is not None:
            await self._ledger.close()

    async def _opened(self) -> Ledger:
        now = self._clock.monotonic()
        if self._opening is None and now < self._next_try:
            raise LedgerUnavailableError("ledger: it was away a moment ago")
        if self._opening is None:
            # In a task of its own: whoever has waited long enough goes, and half of a ledger must not be left behind.
            self._opening = asyncio.get_running_loop().create_task(self._open())
        return await asyncio.shield(self._opening)

    async def _open(self) -> Ledger:
        try:
            prepare("ledger", self._settings.ledger, migrate=False)
            ledger = make_ledger(self._settings.ledger, self._clock, self._chance, concurrency=1, seal=self._seal)
            await ledger.open()
            self._ledger = ledger
            return ledger
        finally:
            self._next_try = self._clock.monotonic() + REOPEN_SECONDS
            self._opening = None


@asynccontextmanager
async def answer_desk(
    settings: Settings,
    sources: Sequence[Source],
    inbox: Inbox,
    wakeup: Wakeup,
    clock: Clock,
    chance: Chance,
    seal: Seal,
) -> AsyncIterator[AnswerDesk | None]:
    """None where there is no endpoint."""
    if not any(source.endpoint for source in sources):
        yield None
        return
    receipts = LateReceipts(settings, clock, chance, seal)
    desk = AnswerDesk(StoredAnswers(inbox, receipts), wakeup=wakeup, clock=clock)
    desk.start()
    try:
        yield desk
    finally:
        await desk.close()
        await receipts.close()
