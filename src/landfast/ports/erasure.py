"""Erasing what events brought, and what was written about it. That they came, and their receipts, stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.erasure import Erased, Erasure
from landfast.domain.ids import EventId, InboxId


class ErasableInbox(Protocol):
    async def erase(self, events: Sequence[EventId], *, who: str) -> Sequence[EventId]:
        """Destroy headers, body, entity, data key, messages and traces of each, in one COMMIT; those it was done to. A
        done one stays done; any other becomes dead, with the reason `erased` and a line of history. What is claimed,
        unknown, or erased before does not change."""
        ...

    async def erasures(self) -> Sequence[Erasure]:
        """All that were ever erased here."""
        ...

    async def scrub(self) -> bool:
        """Leave nothing of what was erased in the database's own files; whether all of it is gone. Something that is
        still read by another keeps it there: then the same call may succeed later."""
        ...


class ErasableLedger(Protocol):
    async def erase(self, inbox: InboxId, events: Sequence[Erased], *, who: str) -> None:
        """Destroy results, and arguments, messages and traces of effects, in one COMMIT. The receipts stay. An effect
        that was not performed is dead, with the error `erased`, and cannot be retried. Repeated, it changes nothing."""
        ...

    async def erased(self, inbox: InboxId) -> Sequence[Erased]:
        """All that were ever erased here, of this inbox."""
        ...

    async def scrub(self) -> bool:
        """As of the inbox."""
        ...
