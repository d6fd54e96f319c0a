"""Events that wait for their entity, and whoever moves it: each must find the other, whatever crashes.

Who moves an entity commits that in the ledger, then stirs what is parked for it, then settles. Who parks an event has
seen the state before, settles, and then looks at the ledger once more. If the one did not find what the other parked,
the other parked it after that, and so sees the new state. Dead before the stir: its event is claimed again, its receipt
is found, and its successor stirs. Dead before the second look: the event itself is due soon after it was parked first.
The second look fails: it is made again, every half minute.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import islice

from landfast import telemetry
from landfast.domain.errors import StoreError
from landfast.domain.lane_memory import StateKey
from landfast.domain.machine import parked_for
from landfast.domain.outcome import Settlement
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.ports.ledger import ReceiptStore

LOOK_AGAIN_SECONDS = 30.0
"""As long as an event waits that was parked first, if its worker died before it looked. What was away for a moment is
back by then."""

UNSEEN_AT_MOST = 1_000
"""Entities to look at again. What is parked was decided in the ledger just before, so a ledger that stays away leaves a
batch or two; and on MySQL each is a round trip."""

Seen = tuple[StateKey, str | None]
"""An entity, and the state that it was in for an event that was parked."""


@dataclass(slots=True, eq=False)
class Parking:
    bench: Workbench
    ledger: ReceiptStore
    unseen: set[Seen] = field(default_factory=set)
    """What nobody could look at a second time. Dead before that: its events wait until they are due."""

    async def before(self, settlements: Sequence[Settlement]) -> None:
        """What these have moved is told first: StoreError, and they are settled later."""
        if reasons := {reason for settlement in settlements for reason in settlement.stirs}:
            await self.bench.stir(sorted(reasons))

    async def after(self, settlements: Sequence[Settlement]) -> None:
        """Of those that were parked, the entity may have moved while they were."""
        # Two of one entity may have seen it in two states: each of the two counts.
        await self._look({(each.waits_for, each.seen) for each in settlements if each.waits_for is not None})

    async def look_again_for_ever(self, clock: Clock) -> None:
        while True:
            await clock.sleep(LOOK_AGAIN_SECONDS)
            await self.look_again()

    async def look_again(self) -> None:
        """At what could not be looked at: its events may be legal, and due only at their deadline."""
        unseen, self.unseen = self.unseen, set()
        await self._look(unseen)

    async def _look(self, parked: Collection[Seen]) -> None:
        if not parked:
            return
        try:
            states = await self.ledger.states([key for key, _ in parked])
            moved = {key for (key, seen), now in zip(parked, states, strict=True) if now != seen}
            if moved:
                await self.bench.stir(sorted(map(parked_for, moved)))
        except StoreError as error:
            self.unseen.update(islice(parked, UNSEEN_AT_MOST - len(self.unseen)))
            telemetry.warn("parked_unseen", count=len(parked), error=error)
