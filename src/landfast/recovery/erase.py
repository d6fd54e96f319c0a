"""Erase: what events brought, and what was written about them, is destroyed in both databases. Receipts stay.

Each database has a list of what was erased, and the two lists are compared: whoever was killed between the two, and
whichever database was restored to an earlier time, the other one's list says what has to be erased again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from landfast.domain.erasure import Erased
from landfast.domain.filter import Filter
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.erasure import ErasableInbox, ErasableLedger
from landfast.ports.inbox import Inbox

T = TypeVar("T")

ERASE_CHUNK_EVENTS = 100
"""Events per transaction: some milliseconds, so that intake and workers do not wait for it."""

AGAIN = "erased again"
"""Who erased it, where one of the two databases had forgotten that it was."""


@dataclass(frozen=True, slots=True)
class Report:
    erased: int = 0
    before: int = 0
    """Erased at an earlier time."""
    in_hand: int = 0
    """Claimed by a worker, and so left as they were."""


async def erase(inbox: Inbox, ledger: ErasableLedger, identity: InboxId, chosen: Filter, *, who: str) -> Report:
    """All that match. Stopped anywhere, it has erased some of them; the same call goes on with the others."""
    report = Report()
    cursor: Cursor | None = None
    while found := await inbox.find(chosen, limit=ERASE_CHUNK_EVENTS, after=cursor):
        cursor = Cursor(found[-1].received_at, found[-1].event_id)
        part = await erase_these(inbox, ledger, identity, found, who=who)
        report = Report(report.erased + part.erased, report.before + part.before, report.in_hand + part.in_hand)
    return report


async def erase_these(
    inbox: Inbox, ledger: ErasableLedger, identity: InboxId, events: Sequence[EventSummary], *, who: str
) -> Report:
    due = [event for event in events if event.erased_at is None]
    erased = set(await inbox.erase([event.event_id for event in due], who=who)) if due else set()
    # Crash here: the inbox's list is longer than the ledger's, and `erase_again` goes on.
    gone = [event for event in due if event.event_id in erased]
    if gone:
        await ledger.erase(identity, [_in_the_ledger(event, identity) for event in gone], who=who)
    return Report(len(gone), len(events) - len(due), len(due) - len(gone))


async def erase_again(inbox: Inbox, ledger: ErasableLedger, identity: InboxId, *, is_thorough: bool = False) -> int:
    """Erase in each database what the other one says was erased; how many it was done to. A thorough one goes through
    all of them in the ledger once more: a zombie may have committed what it had in hand since."""
    in_inbox = {each.event_id: each for each in await inbox.erasures()}
    in_ledger = {each.event_id for each in await ledger.erased(identity)}
    # What the inbox does not know at all comes back to it later, if ever: then it is found here again.
    count = 0
    for events in _chunks(sorted(in_ledger - in_inbox.keys())):
        count += len(await inbox.erase(events, who=AGAIN))
    named = [
        Erased(event, receipt_digest(identity, each.source, each.key))
        for event, each in in_inbox.items()
        if each.source is not None and each.key is not None
    ]
    missing = [each for each in named if each.event_id not in in_ledger]
    for part in _chunks(named if is_thorough else missing):
        await ledger.erase(identity, part, who=AGAIN)
    return count + len(missing)


async def scrub(inbox: ErasableInbox, ledger: ErasableLedger) -> bool:
    """Leave nothing of what was erased in the files of both databases; whether that was possible now."""
    # The inbox last: it is what remembers that this is still to be done. The ledger remembers nothing of it: one that
    # was restored, and erased again, may hold what the inbox has been clean of for long.
    return await ledger.scrub() and await inbox.scrub()


def _chunks(found: Sequence[T]) -> Iterator[Sequence[T]]:
    return (found[start : start + ERASE_CHUNK_EVENTS] for start in range(0, len(found), ERASE_CHUNK_EVENTS))


def _in_the_ledger(event: EventSummary, identity: InboxId) -> Erased:
    return Erased(event.event_id, receipt_digest(identity, event.source, event.key))
