"""The ledger lost its tail (a failover to a lagging replica): find done events without their receipts, run them again.

Safe to repeat, and safe when nothing was lost: the receipts that are there decide, handler by handler. Which handlers
made an event done, its line of history says; the proof asks the same question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from landfast.domain.filter import Filter
from landfast.ports.inbox import Archive
from landfast.ports.ledger import ReceiptStore
from landfast.recovery.receipts import ask_ledger

RECOVER_CHUNK_EVENTS = 500
"""Events per question to the ledger: a page of digests, answered in milliseconds."""


@dataclass(frozen=True, slots=True)
class Recovered:
    looked_at: int
    without_receipt: int
    recovered: int


async def recover_ledger(
    archive: Archive,
    ledger: ReceiptStore,
    *,
    since: datetime,
    who: str,
    dry: bool = False,
    report: Callable[[Recovered], None] = lambda _: None,
) -> Recovered:
    """Make every done event received since then that lacks a `done` receipt ready again, in the same run."""
    inbox = await archive.identity()
    total = Recovered(0, 0, 0)
    async for events in archive.walk_done(Filter(since=since), chunk=RECOVER_CHUNK_EVENTS):
        lost = [event.event_id for event in (await ask_ledger(ledger, inbox, events)).lacking]
        # Crash before it: they are still done, and the next walk finds them. After it: they are ready.
        recovered = await archive.recover(lost, who=who) if lost and not dry else 0
        total = Recovered(total.looked_at + len(events), total.without_receipt + len(lost), total.recovered + recovered)
        report(total)
    return total
