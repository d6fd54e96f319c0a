"""The ledger's part of a retention pass: which receipts an inbox still needs, and then a walk that deletes the others.

Two databases, and no transaction over both. So the inbox is asked first, the ledger is told, and only then something is
deleted: whoever dies in between leaves receipts behind that nobody needs, and the next pass deletes them. The other way
round, an event could live whose receipts are gone, and its handlers would run again.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from landfast.domain.expiry import Expired, LedgerAges
from landfast.domain.ids import InboxId, receipt_digest
from landfast.domain.retention import BACKUP_HORIZON_SECONDS
from landfast.ports.expiry import ExpiringLedger
from landfast.ports.retention import RetainingInbox

DAY, MONTH = timedelta(days=1), timedelta(days=30)


NAMED_AT_ONCE = 500
"""Events in one question to the inbox and one statement to the ledger: some 10 ms in each."""


@dataclass(frozen=True, slots=True)
class LedgerPass:
    named: int = 0
    """Old events that live, so that their receipts are kept."""
    receipts: int = 0
    effects: int = 0
    silent: tuple[InboxId, ...] = ()
    """Other inboxes that write their receipts here and have not said for a month what they keep: nothing younger than
    what they said last can go."""


async def expire_ledger(
    inbox: RetainingInbox,
    ledger: ExpiringLedger,
    *,
    identity: InboxId,
    ages: LedgerAges,
    now: datetime,
    rest: Callable[[], Awaitable[None]],
    report: Callable[[Expired], None] = lambda _: None,
) -> LedgerPass:
    """`rest` is awaited after each step, so that others get their turn. A pass that is cancelled anywhere has done no
    harm, and the next one begins anew."""
    named = 0
    silent: tuple[InboxId, ...] = ()
    if math.isfinite(ages.receipts):
        before = now - timedelta(seconds=ages.receipts)
        named = await _name_living(inbox, ledger, identity, ages.receipts, rest)
        await ledger.set_kept_to(identity, before, forget_after=BACKUP_HORIZON_SECONDS)
        silent = await _silent(ledger, identity, before)
    total = step = await ledger.expire(ages)
    while step.rest is not None:
        await rest()
        step = await ledger.expire(ages, at=step.rest)
        total += step
        report(total)
    return LedgerPass(named, total.receipts, total.effects, silent)


async def is_due(ledger: ExpiringLedger, *, identity: InboxId, older_than: float, now: datetime) -> bool:
    """A walk through a whole ledger is worth it once a day; and at once where the last one was made by a clock that was
    ahead, or for a younger age."""
    spoken = (await ledger.kept_to()).get(identity)
    return spoken is None or not math.isfinite(older_than) or abs(now - timedelta(seconds=older_than) - spoken) >= DAY


async def _name_living(
    inbox: RetainingInbox,
    ledger: ExpiringLedger,
    identity: InboxId,
    older_than: float,
    rest: Callable[[], Awaitable[None]],
) -> int:
    """All events that are older and still there, in whatever state: a replay must find what is done. A receipt is made
    after its event came, so those of younger events are younger, too."""
    named = 0
    async for found in inbox.living(older_than=older_than, chunk=NAMED_AT_ONCE):
        if found:
            await ledger.keep(identity, [receipt_digest(identity, source, key) for source, key in found])
        named += len(found)
        await rest()
    return named


async def _silent(ledger: ExpiringLedger, identity: InboxId, before: datetime) -> tuple[InboxId, ...]:
    others = {other: spoken for other, spoken in (await ledger.kept_to()).items() if other != identity}
    return tuple(other for other, spoken in others.items() if spoken is None or spoken < before - MONTH)
