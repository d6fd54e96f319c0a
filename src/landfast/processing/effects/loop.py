"""Claim staged effects as places get free, and not as batches end: one slow effect delays no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

from landfast import telemetry
from landfast.domain.effect import ClaimedEffect
from landfast.domain.errors import StoreError
from landfast.domain.ids import Token
from landfast.ports.ledger import EffectStore
from landfast.processing.control.gate import Gate
from landfast.processing.control.leases import Leases
from landfast.processing.control.stopping import Stopping
from landfast.processing.effects.perform import Performance

EFFECTS_AT_ONCE = 16
"""Places for effects in one worker. They wait for the network, so there are more of them than hands."""

EFFECT_POLL_SECONDS = 1.0
"""Between looks when nobody staged anything here: other workers stage, and delays end."""


@dataclass(slots=True, kw_only=True)
class EffectLoop:
    store: EffectStore
    performance: Performance
    leases: Leases
    gate: Gate
    lease: float
    new_token: Callable[[], Token]
    staged: asyncio.Event
    """Set when there is something to perform."""
    stopping: Stopping
    is_safe: Callable[[], bool]
    """Whether what is performed can be written down durably."""
    look_seconds: Callable[[float], float] = lambda usually: usually
    """How soon to look again: sooner while what effects use takes them one by one."""
    is_away: bool = False
    """The ledger did not answer the last time it was asked. It is asked every second, unless all places are in use."""
    _taken: int = 0
    """Places in use."""
    _is_full: bool = False
    """There may be more than there were places for."""

    async def run(self) -> None:
        """Until the stop; what is in hand then is finished."""
        async with asyncio.TaskGroup() as claims:
            while not self.stopping.is_set():
                self.staged.clear()
                if not await self._take_into(claims):
                    await self.stopping.pause(self.look_seconds(EFFECT_POLL_SECONDS), self.staged)

    async def take(self) -> bool:
        """Claim what is there, perform it, and wait for all of it; whether there was any."""
        claimed = await self._claim()
        await self._perform(claimed)
        return bool(claimed)

    async def perform(self, suspect: ClaimedEffect) -> None:
        """One that somebody else claimed."""
        self._took([suspect])
        await self._perform([suspect])

    async def _take_into(self, claims: asyncio.TaskGroup) -> bool:
        """Whether to look again at once."""
        self._is_full = self._taken >= EFFECTS_AT_ONCE
        if self._is_full or not self.is_safe():
            return False
        async with AsyncExitStack() as inside:
            await inside.enter_async_context(self.gate.shared())
            try:
                claimed = await self._claim()
                self.is_away = False
            except StoreError as error:
                self.is_away = True
                telemetry.warn("effects_not_claimed", error=error)
                return False
            if claimed:
                # Inside until the last of them has ended: whoever wants to be alone waits for that.
                claims.create_task(self._perform_inside(inside.pop_all(), claimed))
        return bool(claimed)

    async def _claim(self) -> Sequence[ClaimedEffect]:
        free = EFFECTS_AT_ONCE - self._taken
        claimed = await self.store.claim(token=self.new_token(), lease=self.lease, limit=free)
        self._took(claimed)
        return claimed

    async def _perform_inside(self, inside: AsyncExitStack, claimed: Sequence[ClaimedEffect]) -> None:
        async with inside:
            await self._perform(claimed)

    async def _perform(self, claimed: Sequence[ClaimedEffect]) -> None:
        left = list(claimed)
        try:
            async with aclosing(self.performance.perform(claimed)) as performed:
                async for ended in performed:
                    left.remove(ended)
                    self._free(ended)
        finally:
            for effect in left:
                self._free(effect)

    def _took(self, claimed: Sequence[ClaimedEffect]) -> None:
        self._taken += len(claimed)
        for effect in claimed:
            self.leases.took(effect.token, 1)

    def _free(self, effect: ClaimedEffect) -> None:
        # Also where the settling failed: then the lease runs out, and the effect is performed again.
        self.leases.gave_back(effect.token)
        self._taken -= 1
        if self._is_full or effect.staged.step.leads:
            self.staged.set()
