"""Events that wait for their entity, and whoever moves it: each must find the other, whatever crashes.

Who moves an entity commits that in the ledger, then stirs what is parked for it, then settles. Who parks an event has
seen the state before, settles, and then looks at the ledger once more. If the one did not find what the other parked,
the other parked it after that, and so sees the new state. Dead before the stir: its event is claimed again, its receipt
is found, and its successor stirs. Dead before the second look: the event itself is due soon after it was parked first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.machine import parked_for
from landfast.domain.outcome import Settlement
from landfast.ports.inbox import Workbench
from landfast.ports.ledger import ReceiptStore


@dataclass(frozen=True, slots=True)
class Parking:
    bench: Workbench
    ledger: ReceiptStore

    async def before(self, settlements: Sequence[Settlement]) -> None:
        """What these have moved is told first: StoreError, and they are settled later."""
        if reasons := {reason for settlement in settlements for reason in settlement.stirs}:
            await self.bench.stir(sorted(reasons))

    async def after(self, settlements: Sequence[Settlement]) -> None:
        """Of those that were parked, the entity may have moved while they were."""
        # Two of one entity may have seen it in two states: each of the two counts.
        parked = list({(each.waits_for, each.seen) for each in settlements if each.waits_for is not None})
        if not parked:
            return
        try:
            states = await self.ledger.states([key for key, _ in parked])
            moved = {key for (key, seen), now in zip(parked, states, strict=True) if now != seen}
            if moved:
                await self.bench.stir(sorted(map(parked_for, moved)))
        except StoreError as error:
            telemetry.warn("parked_unseen", count=len(parked), error=error)
