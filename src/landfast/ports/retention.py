"""Removing what is old enough. A pass is many small steps; each is one transaction that can be repeated."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from landfast.domain.retention import Counts, LastPass, Retention, Step


class RetainingInbox(Protocol):
    async def take_retention_turn(
        self, holder: bytes, *, every: float, lasting: float, is_urgent: bool = False
    ) -> bool:
        """Let `holder` make a pass for `lasting` seconds from now; whether it may. One at a time over all machines, and
        none before `every` seconds have passed since the last one ended. One that ended later than now, by a clock that
        was ahead, puts off none. Whoever has the turn may take it again, which makes it last longer. What is urgent
        takes the turn from whoever has it."""
        ...

    async def end_retention_turn(self, holder: bytes, *, is_complete: bool) -> None:
        """The pass is over; if it is not complete, another may begin at once. Nothing where another has the turn."""
        ...

    async def retain(self, retention: Retention, *, holder: bytes, proven: int) -> Step | None:
        """Make the next step; None where nothing is left to do. TurnLostError where the turn is not the holder's, and
        nothing is changed: whoever has it goes on.
        Only events leave that are done, dead or unhandled, for longer than their source's age. Where the content's age
        has passed and the row's has not, headers and body go, and the event says when. Where both have, all of it
        goes: identity, row, history, redeliveries.
        An event whose newest line has a number above `proven` stays as it is, and is `held_back`.
        What went is counted in the same transaction, by source and state, and `census` tells it as expired. An event
        that is replayed, recovered, requeued or finished at the same moment leaves or is moved, never both.
        Killed at any moment, the same call goes on. A step takes some 50 ms and makes nobody wait for longer."""
        ...

    async def expiring(self, retention: Retention, *, proven: int) -> Counts:
        """What a pass would remove now. Changes nothing, and may walk through everything that is old enough."""
        ...

    async def last_pass(self) -> LastPass: ...

    def living(self, *, older_than: float, chunk: int) -> AsyncIterator[Sequence[tuple[str, str]]]:
        """Source and key, in chunks, of what the ledger must keep the receipts of, however old they are: every event
        whose identity is here and that arrived more than so many seconds ago; and every one that waits or works,
        whenever it arrived, because it may have been here before, and have been forgotten. One that is moved between
        two chunks is named all the same. A chunk may be empty."""
        ...
