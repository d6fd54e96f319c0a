"""The ledger lost its tail (a failover to a lagging replica): find done events without their receipts, run them again.

Safe to repeat, and safe when nothing was lost: the receipts that are there decide, handler by handler. Which handlers
an event had is read from the history that the inbox kept. It does not name one whose worker died between its COMMIT
and its settle: should that very receipt be lost, and another of the same event not, it is not found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime

from landfast.domain.filter import Filter
from landfast.domain.ids import EventId, ReceiptDigest, receipt_digest
from landfast.domain.outcome import Outcome
from landfast.domain.unhandled import DISMISSED
from landfast.ports.inbox import Archive
from landfast.ports.ledger import Ledger

CHUNK = 500
"""Events per question to the ledger: a page of digests, answered in milliseconds."""

FINISHED = frozenset({"done", "skipped"})
"""Attempts after which a handler had its `done` receipt: it ran, or found one of an earlier run."""


@dataclass(frozen=True, slots=True)
class Recovered:
    looked_at: int
    without_receipt: int
    recovered: int


async def recover_ledger(
    archive: Archive,
    ledger: Ledger,
    *,
    since: datetime,
    who: str,
    dry: bool = False,
    report: Callable[[Recovered], None] = lambda _: None,
) -> Recovered:
    """Make every done event received since then that lacks a `done` receipt ready again, in the same run."""
    inbox = await archive.identity()
    total = Recovered(0, 0, 0)
    async for events in archive.walk_done(Filter(since=since), chunk=CHUNK):
        owed = [event for event in events if event.reason not in DISMISSED]
        digests = {receipt_digest(inbox, event.source, event.key): event.event_id for event in owed}
        proven = await _proven(ledger, digests)
        lost = [event for digest, event in digests.items() if await _lacks(archive, event, proven[digest])]
        # Crash before it: they are still done, and the next walk finds them. After it: they are ready.
        recovered = await archive.recover(lost, who=who) if lost and not dry else 0
        total = Recovered(total.looked_at + len(events), total.without_receipt + len(lost), total.recovered + recovered)
        report(total)
    return total


async def _proven(ledger: Ledger, digests: Collection[ReceiptDigest]) -> defaultdict[ReceiptDigest, set[str]]:
    """The handlers that have a `done` receipt, by event."""
    proven: defaultdict[ReceiptDigest, set[str]] = defaultdict(set)
    for receipt in await ledger.receipts(list(digests)):
        if receipt.outcome is Outcome.DONE:
            proven[receipt.key.digest].add(receipt.key.handler)
    return proven


async def _lacks(archive: Archive, event: EventId, proven: set[str]) -> bool:
    if not proven:
        return True
    record = await archive.show(event)
    lines = record.history if record is not None else ()
    finished = {attempt.handler for line in lines for attempt in line.attempts if attempt.outcome in FINISHED}
    return not finished <= proven
