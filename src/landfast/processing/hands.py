"""What the hands of a worker do: claim, execute, settle, and rest until there is more to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum

from landfast.domain.errors import StoreError
from landfast.domain.ids import Token
from landfast.domain.outcome import Claim
from landfast.processing.claim import Claiming
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.gate import Gate
from landfast.processing.control.leases import Leases
from landfast.processing.control.stopping import Stopping
from landfast.processing.execute import Execution
from landfast.processing.fairness.hand_pool import BUSY_LOOP_HANDS, HandPool
from landfast.processing.fairness.pace import Pace
from landfast.processing.fairness.relief import Relief
from landfast.processing.fairness.shares import Hold, Shares
from landfast.processing.settle import Settler


class Took(IntEnum):
    """What a claim came to."""

    NOTHING = 0
    ALL_THERE_WAS = 1
    ALL_IT_ASKED_FOR = 2
    """There may be more."""


@dataclass(slots=True, kw_only=True)
class Hands:
    claiming: Claiming
    execution: Execution
    settler: Settler
    shares: Shares
    relief: Relief
    leases: Leases
    pool: HandPool
    breakers: Breakers
    gate: Gate
    stopping: Stopping
    new_token: Callable[[], Token]

    async def work(self, number: int) -> None:
        """One hand, until the stop."""
        pace = Pace()
        if number >= BUSY_LOOP_HANDS:
            await self.pool.rest()  # all at once they would open as many connections, to take one event each
        while not self.stopping.is_set():
            try:
                with self.breakers.turn() as may_start:
                    if may_start:
                        async with self.gate.shared():
                            took = await self.take(pace)
            except StoreError as error:
                self.breakers.trip(str(error))
                continue
            if not may_start:
                await self.stopping.pause(max(0.05, self.breakers.wait()))
            elif took is not Took.ALL_IT_ASKED_FOR or self.pool.is_crowded():
                # What comes from now on calls us. To look at once would find little, and cost a round of statements.
                await self.pool.rest()

    async def take(self, pace: Pace) -> Took:
        """Claim, execute, settle."""
        with self._held() as hold:
            is_probe = self.breakers.infrastructure.is_open
            taken = await self.claiming.claim(hold, pace, token=self.new_token(), is_probe=is_probe)
            if taken.is_more or self.shares.is_waited_for(hold):
                self.pool.call()
            if taken.claims:
                with self.leases.taken(taken.claims, hold), self.relief.of(hold):
                    settlements = await self.execution.execute(taken.claims, taken.pace, hold)
                await self.settler.submit(settlements)
        if taken.is_more:
            return Took.ALL_IT_ASKED_FOR
        return Took.ALL_THERE_WAS if taken.claims else Took.NOTHING

    async def run_alone(self, suspect: Claim) -> None:
        """One that somebody else claimed. It takes no share from anybody."""
        hold = Hold()
        with self.leases.taken([suspect], hold), self.relief.of(hold):
            settlements = await self.execution.execute([suspect], Pace(), hold)
        await self.settler.submit(settlements)

    @contextmanager
    def _held(self) -> Iterator[Hold]:
        """What this hand holds, from before it claims. Others may wait for it."""
        hold = self.shares.open()
        try:
            yield hold
        finally:
            self.shares.close(hold)
            if self.shares.is_waited_for(hold):
                self.pool.call()
