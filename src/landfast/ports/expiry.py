"""What a ledger forgets, in small steps, and what it keeps because an inbox still needs it.

A receipt says nothing about its event but a digest. So the inbox says which of its old events live, and up to when it
has said so; the ledger deletes nothing that is younger than that, or named. The order is: keep, set_kept_to, expire.
Whoever dies in between leaves too much behind, and never too little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from landfast.domain.expiry import Expired, LedgerAges, Place
from landfast.domain.ids import InboxId, ReceiptDigest


class ExpiringLedger(Protocol):
    async def keep(self, inbox: InboxId, digests: Sequence[ReceiptDigest]) -> None:
        """The receipts of these events of the inbox do not expire, until `set_kept_to` forgets them."""
        ...

    async def set_kept_to(self, inbox: InboxId, moment: datetime, *, forget_after: float) -> None:
        """Every event of this inbox that came before the moment, and lives, was named by `keep` just now. One that was
        not named for `forget_after` seconds need not be kept any longer: until then a copy of the inbox may be
        restored in which it lives."""
        ...

    async def kept_to(self) -> Mapping[InboxId, datetime | None]:
        """Every inbox that is bound here, and the moment that it set last."""
        ...

    async def expire(self, ages: LedgerAges, *, at: Place | None = None) -> Expired:
        """One step of a walk through everything, in one small transaction: from its beginning, or from where the step
        before it ended. Deletes receipts and tombstones that are older than `ages.receipts`, that were made a day or
        more before the moment that every bound inbox has set, and that none of them keeps; effects that are done or
        dead for longer than their age; what is known of erased events whose receipts would go; marks that were not
        moved, and states that no transition leads on from, for longer than `ages.receipts`. An effect that is not
        over stays, however old it is, and so does a state that something can follow."""
        ...

    async def unbind(self, inbox: InboxId) -> bool:
        """Forget an inbox that is gone for good, and what it kept; whether it was bound. One that comes back is bound
        again when it starts."""
        ...
