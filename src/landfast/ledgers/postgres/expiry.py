"""Forgetting on PostgreSQL: a walk by place through each table, a few pages at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from landfast.domain.effect import WAITS, EffectState
from landfast.domain.expiry import CLOCKS_DIFFER_SECONDS, Expired, LedgerAges, Place
from landfast.domain.ids import InboxId, ReceiptDigest
from landfast.domain.retention import DAY_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from asyncpg import Record

BLOCKS_AT_ONCE = 32
"""Pages of 8 KB that one step looks at: some 2,000 receipts, about 10 ms if all of them go."""

ENDLESS_SECONDS = 1_000 * 365 * DAY_SECONDS
"""What an infinite age is to a server that has none."""

RECEIPTS, EFFECTS = "landfast_ledger.receipt", "landfast_ledger.effect"
MARKS, STATES = "landfast_ledger.lane_mark", "landfast_ledger.lane_state"
ARRIVALS = "landfast_ledger.arrival"


class PostgresExpiry:
    """An ExpiringLedger. Each step is one statement: crash before its answer, and it was done or it was not."""

    _fetch: Callable[..., Coroutine[Any, Any, Sequence[Record]]]

    async def keep(self, inbox: InboxId, digests: Sequence[ReceiptDigest]) -> None:
        await self._fetch("keep", inbox, sorted(set(digests)))

    async def set_kept_to(self, inbox: InboxId, moment: datetime, *, forget_after: float) -> None:
        # Crash between the two: what could be forgotten is kept until the next time.
        await self._fetch("kept_to_set", inbox, moment)
        await self._fetch("kept_forget", inbox, forget_after)

    async def kept_to(self) -> Mapping[InboxId, datetime | None]:
        return {InboxId(row["inbox"]): row["kept_to"] for row in await self._fetch("kept_to")}

    async def expire(self, ages: LedgerAges, *, at: Place | None = None) -> Expired:
        place = at or Place(RECEIPTS, 0)
        ages = LedgerAges(**{name: min(age, ENDLESS_SECONDS) for name, age in asdict(ages).items()})
        first = int(place.after)
        places = (first, 0), (first + BLOCKS_AT_ONCE, 0)
        ((blocks,),) = await self._fetch("expire_blocks", place.table)
        rest = Place(place.table, first + BLOCKS_AT_ONCE) if first + BLOCKS_AT_ONCE < blocks else None
        if place.table == RECEIPTS:
            ((gone,),) = await self._fetch("receipts_expire", *places, ages.receipts, CLOCKS_DIFFER_SECONDS)
            return Expired(receipts=gone, rest=rest or Place(EFFECTS, 0))
        if place.table == MARKS:
            ((gone,),) = await self._fetch("marks_expire", *places, ages.receipts)
            return Expired(lanes=gone, rest=rest or Place(STATES, 0))
        if place.table == STATES:
            ((gone,),) = await self._fetch("states_expire", *places, ages.receipts)
            return Expired(lanes=gone, rest=rest or Place(ARRIVALS, 0))
        if place.table == ARRIVALS:
            ((gone,),) = await self._fetch("arrivals_expire", *places, ages.receipts)
            return Expired(lanes=gone, rest=rest)
        over = (EffectState.DONE, ages.done_effects, EffectState.DEAD, ages.dead_effects, WAITS)
        ((gone,),) = await self._fetch("effects_expire", *places, *over)
        if rest is None:
            await self._fetch("erased_expire", ages.receipts, CLOCKS_DIFFER_SECONDS)
        return Expired(effects=gone, rest=rest or Place(MARKS, 0))

    async def unbind(self, inbox: InboxId) -> bool:
        return bool(await self._fetch("unbind", inbox))
