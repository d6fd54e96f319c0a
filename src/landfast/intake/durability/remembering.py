"""Remember: what a drainer brought into the inbox is known to be there, by all intakes."""

from __future__ import annotations

from collections.abc import Sequence

from landfast.domain.delivery import Delivery, Recorded
from landfast.ports.journal import Journal
from landfast.ports.seen import Seen


class RememberingJournal:
    """A journal that tells the seen cache, after the COMMIT, what is in the inbox now."""

    def __init__(self, journal: Journal, seen: Seen) -> None:
        self._journal = journal
        self._seen = seen

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        recorded = await self._journal.record(deliveries)
        # Crash before this: the cache holds them as durable elsewhere, for a few minutes, and then asks the inbox.
        inside = [(one.mark, row.event_id) for one, row in zip(deliveries, recorded, strict=True) if row.in_inbox]
        self._seen.remember([mark for mark, _ in inside], events=[event for _, event in inside])
        return recorded
