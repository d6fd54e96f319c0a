"""Whole crowds of events in one state, and the receipts that go with them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from landfast.app.system_clock import SystemChance
from landfast.domain.delivery import Delivery
from landfast.domain.ids import HandlerName, receipt_digest
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Outcome, Receipt, ReceiptKey
from landfast.ports.inbox import Inbox
from landfast.ports.ledger import Ledger
from landfast.recovery.proof import Proof, prove
from landfast.testing.clock import ManualClock
from landfast.testing.factory import deliveries, failure, settlement, token
from tests.patience import PATIENCE_SECONDS

_numbers = itertools.count(1)
HANDLER = HandlerName("create_order")


async def store(inbox: Inbox, count: int, *, prefix: str = "evt", source: str = "shop") -> list[Delivery]:
    events = deliveries(count, prefix=prefix, source=source)
    await inbox.record(events)
    return events


async def settle_all(inbox: Inbox, signal: Signal, *, handlers: tuple[HandlerName, ...] = (HANDLER,)) -> list[Claim]:
    """Claim whatever is ready, and settle all of it alike."""
    claims: list[Claim] = []
    while found := await inbox.claim(token=token(next(_numbers)), lease=30, limit=500):
        details: dict[str, Any] = failure(signal) if signal in {Signal.BURY, Signal.RETRY} else {}
        if signal is Signal.FINISH:
            details = {"handlers": handlers}
        await inbox.settle([settlement(claim, signal, due_in=60, **details) for claim in found])
        claims += found
    return claims


async def receive(
    inbox: Inbox, ledger: Ledger, events: Sequence[Delivery], *, run: int = 1, handler: HandlerName = HANDLER
) -> None:
    """Commit a done receipt for each."""
    transaction = await ledger.begin(deadline=PATIENCE_SECONDS)
    await transaction.reserve([(await key_of(inbox, event, run=run))._replace(handler=handler) for event in events])
    await transaction.commit(results=[], effects=[])


async def bury(inbox: Inbox, ledger: Ledger, event: Delivery, *, run: int = 1) -> None:
    await ledger.bury([Receipt(await key_of(inbox, event, run=run), Outcome.DEAD)])


async def key_of(inbox: Inbox, event: Delivery, *, run: int = 1) -> ReceiptKey:
    return ReceiptKey(receipt_digest(await inbox.identity(), event.source, event.key), HANDLER, run)


async def proven(inbox: Inbox, ledger: Ledger, *, full: bool = False) -> Proof:
    return await prove(inbox, ledger, clock=ManualClock(), chance=SystemChance(), full=full)
