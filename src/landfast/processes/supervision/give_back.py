"""Give back what a dead process had claimed: its leases end now, before they run out."""

from __future__ import annotations

from landfast import telemetry
from landfast.app import Inbox
from landfast.domain.ids import WorkerId


async def abandon(inbox: Inbox, worker: WorkerId) -> int:
    """How many claims that were."""
    async with inbox.stores() as stores:
        events = await stores.inbox.abandon(worker=worker)
        effects = await stores.ledger.abandon(worker=worker)
    telemetry.info("claims_given_back", events=events, effects=effects)
    return events + effects
