"""Whether the ledger has what made an event done: one question, asked by the proof and by `recover ledger`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from landfast.domain.audit import Finished
from landfast.domain.ids import HandlerName, InboxId, ReceiptDigest, receipt_digest
from landfast.domain.outcome import Outcome, Receipt
from landfast.ports.ledger import ReceiptStore


@dataclass(frozen=True, slots=True)
class Checked:
    lacking: tuple[Finished, ...] = ()
    """Done in the inbox, and not in the ledger."""
    doubled: int = 0
    """Receipts that are there twice: a ledger whose unique key is gone."""


async def ask_ledger(ledger: ReceiptStore, inbox: InboxId, events: Sequence[Finished]) -> Checked:
    by_digest = {receipt_digest(inbox, event.source, event.key): event for event in events}
    return check(by_digest, await ledger.receipts(list(by_digest)))


def check(events: Mapping[ReceiptDigest, Finished], receipts: Sequence[Receipt]) -> Checked:
    """Each handler that made an event done has a `done` receipt in that run or an earlier one, and none has a tombstone
    in that run. What no handler made done was dismissed: nothing is owed for it, whoever gave up on it before.
    A forced run left a receipt of its own: one of an earlier run does not speak for what it wrote."""
    done: defaultdict[ReceiptDigest, set[HandlerName]] = defaultdict(set)
    refuted = {digest for digest, event in events.items() if event.forced and event.handlers != ()}
    refuted -= {receipt.key.digest for receipt in receipts if _is_of_its_run(receipt, events)}
    for receipt in receipts:
        digest, handler, run = receipt.key
        if receipt.outcome is Outcome.DONE and run <= events[digest].run:
            done[digest].add(handler)
        elif receipt.outcome is Outcome.DEAD and run == events[digest].run and events[digest].handlers != ():
            refuted.add(digest)
    lacking = [event for digest, event in events.items() if digest in refuted or not _is_proven(event, done[digest])]
    doubled = len(receipts) - len({receipt.key for receipt in receipts})
    return Checked(tuple(lacking), doubled)


def _is_proven(event: Finished, done: set[HandlerName]) -> bool:
    return bool(done) if event.handlers is None else done.issuperset(event.handlers)


def _is_of_its_run(receipt: Receipt, events: Mapping[ReceiptDigest, Finished]) -> bool:
    return receipt.outcome is Outcome.DONE and receipt.key.run == events[receipt.key.digest].run
