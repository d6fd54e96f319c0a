"""The effects of one test: only those of its own inbox, only those that it wants performed, and due by its own clock.

A test ledger on PostgreSQL is the user's, and may hold effects of other tests, or of worse. None of them is touched.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectSignal, StagedEffect
from landfast.domain.ids import ReceiptDigest, Token
from landfast.ports.clock import Clock
from landfast.ports.ledger import EffectStore
from landfast.testing.witness import Watched, WatchedLane, Witness

Own = Callable[[], Awaitable[Collection[ReceiptDigest]]]


class OwnLedger(Watched):
    """A ReceiptStore whose transactions stage effects for a time that the test's clock tells."""

    def __init__(self, ledger: Any, *, clock: Clock, due: dict[str, datetime]) -> None:
        super().__init__(ledger, begin=self._begin)
        self._ledger = ledger
        self._clock = clock
        self._due = due

    async def _begin(self, **how: Any) -> Any:
        return self._watched(await self._ledger.begin(**how))

    def _watched(self, tx: Any) -> Any:
        async def commit(*, effects: Sequence[StagedEffect], **more: Any) -> None:
            await tx.commit(
                effects=[each if each.due_in is None else replace(each, due_in=0.0) for each in effects], **more
            )
            now = self._clock.now()
            timed = {each.key: each.due_in for each in effects if each.due_in is not None}
            self._due.update({key: now + timedelta(seconds=seconds) for key, seconds in timed.items()})

        lane = None if tx.lane is None else WatchedLane(tx.lane, self._watched)
        return Watched(tx, commit=commit, lane=lane)


class OwnEffects(Watched):
    """An EffectStore. Where time is the database's, a delayed effect would be due by that: so here it is ready at once
    in the store, and given out when the test's clock says so."""

    def __init__(
        self, store: EffectStore, own: Own, *, clock: Clock, witness: Witness, due: dict[str, datetime]
    ) -> None:
        super().__init__(store, claim=self._claim, claim_suspect=self._claim_suspect, settle=self._settle)
        self._store = store
        self._own = own
        self._clock = clock
        self._witness = witness
        self._due = due
        """When each is tried again, by the test's clock."""
        self.wanted: Callable[[str], bool] | None = None
        """Which effects are performed, by name; none of them unless it is set."""
        self._names: dict[str, str] = {}

    async def _claim(self, *, token: Token, lease: float, limit: int) -> Sequence[ClaimedEffect]:
        if self.wanted is None:
            return ()
        ours: list[ClaimedEffect] = []
        others: list[ClaimedEffect] = []
        own = await self._own()
        while len(ours) < limit:
            claimed = await self._store.claim(token=token, lease=lease, limit=limit - len(ours))
            if not claimed:
                break
            for each in claimed:
                (ours if self._is_wanted(each, own) else others).append(each)
        await self._give_back(others)
        return ours

    async def _claim_suspect(self, *, token: Token, lease: float) -> ClaimedEffect | None:
        if self.wanted is None:
            return None
        own = await self._own()
        others: list[ClaimedEffect] = []
        while (claimed := await self._store.claim_suspect(token=token, lease=lease)) is not None:
            if self._is_wanted(claimed, own):
                break
            others.append(claimed)
        await self._give_back(others)
        return claimed

    async def _settle(self, settlements: Sequence[EffectSettlement]) -> Sequence[bool]:
        now = self._clock.now()
        for each in settlements:
            self._due[each.key] = now + timedelta(seconds=each.due_in)
        took = await self._store.settle([replace(each, due_in=0.0) for each in settlements])
        for each, is_so in zip(settlements, took, strict=True):
            if is_so:
                self._witness.effect_settled(self._names.get(each.key, ""), each)
        return took

    def _is_wanted(self, claimed: ClaimedEffect, own: Collection[ReceiptDigest]) -> bool:
        staged = claimed.staged
        self._names[staged.key] = staged.name
        is_due = staged.key not in self._due or self._due[staged.key] <= self._clock.now()
        if not is_due or staged.digest not in own or self.wanted is None:
            return False
        # What stands for an arrival performs nothing: its deadline is over for whatever the test wants performed.
        return staged.step.arrival is not None or self.wanted(staged.name)

    async def _give_back(self, claimed: Sequence[ClaimedEffect]) -> None:
        if claimed:
            await self._store.settle(
                [
                    EffectSettlement(each.staged.key, each.staged.run, each.token, EffectSignal.RELEASE)
                    for each in claimed
                ]
            )
