"""Events and effects whose worker fell silent: each runs with nothing else going on in its process.

A crash counts against an event only if it ran alone. The best place for that is a process that does nothing else: there
everyone is alone, nobody waits, and nobody dies with a poison event.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from landfast import telemetry
from landfast.domain.effect import ClaimedEffect, EffectSettlement, EffectSignal
from landfast.domain.errors import StoreError
from landfast.domain.ids import Token
from landfast.domain.lifecycle import Signal
from landfast.domain.outcome import Claim, Settlement
from landfast.ports.clock import Clock
from landfast.ports.inbox import Workbench
from landfast.ports.ledger import EffectStore
from landfast.processing.control.breakers import Breakers
from landfast.processing.control.gate import Gate
from landfast.processing.control.stopping import Stopping
from landfast.processing.handlers.threads import Threads

SUSPECT_POLL_SECONDS = 1.0
"""How long an event whose worker died waits for somebody to notice."""

SUSPECT_LINGER_SECONDS = 5.0
"""The process that runs them ends after so long without any. A suspect that is retried after two seconds, as most are,
still finds it there."""

SUSPECTS_ALONE_SECONDS = 5.0
"""Then the others have their turn, even if there are more suspects."""

SUSPECT_FINISH_SECONDS = 8.0
"""For a suspect in hand when its worker is told to stop, wherever it runs. It is given back then, because two seconds
later its process may be killed, and that would count as its crash."""


@dataclass(slots=True, kw_only=True)
class Suspects:
    """How a worker deals with them."""

    bench: Workbench
    effects: EffectStore
    lease: float
    new_token: Callable[[], Token]
    run: Callable[[Claim | ClaimedEffect], Awaitable[None]]
    """Return when it is settled: a crash after that is not its own."""
    stopping: Stopping
    breakers: Breakers
    threads: Threads
    gate: Gate
    clock: Clock
    _in_hand: Claim | ClaimedEffect | None = field(default=None, init=False)

    async def report(self, tell: Callable[[], None]) -> None:
        """Somebody else runs them: say so, as long as there are any."""
        while not self.stopping.is_set():
            if await self._are_there():
                tell()
            await self.stopping.pause(SUSPECT_POLL_SECONDS)

    async def run_between(self) -> None:
        """Run them here, at moments in which the hands and the effects of this process rest."""
        while not self.stopping.is_set():
            if await self._are_there():
                async with self.gate.alone() as is_alone:
                    until = self.clock.monotonic() + SUSPECTS_ALONE_SECONDS
                    while is_alone and self.clock.monotonic() < until and await self._take_in_time():
                        pass
            await self.stopping.pause(SUSPECT_POLL_SECONDS)

    async def run_all(self) -> None:
        """Run them in a process that does nothing else, until there were none for a while."""
        since = self.clock.monotonic()
        while not self.stopping.is_set() and self.clock.monotonic() - since < SUSPECT_LINGER_SECONDS:
            if await self._take_in_time():
                since = self.clock.monotonic()
            else:
                await self.stopping.pause(SUSPECT_POLL_SECONDS)

    async def take(self) -> bool:
        """Claim one, run it, and have it settled; whether there was one."""
        token = self.new_token()
        claim: Claim | ClaimedEffect | None = await self.bench.claim_suspect(token=token, lease=self.lease)
        claim = claim or await self.effects.claim_suspect(token=token, lease=self.lease)
        if claim is None:
            return False
        self._in_hand = claim
        try:
            await self.run(claim)
        except Exception:
            self._in_hand = None  # an error that it brought about counts; a worker that ends around it does not
            raise
        self._in_hand = None
        return True

    async def give_back(self) -> None:
        """Release the one in hand, if there is one; nothing is counted against it. Its handler may still commit: the
        next claim finds that by the receipt."""
        claim, self._in_hand = self._in_hand, None
        try:
            match claim:
                case Claim(event_id, run, token):
                    await self.bench.settle([Settlement(event_id, run, token, Signal.RELEASE, reason="stopping")])
                case ClaimedEffect(staged, token):
                    await self.effects.settle([EffectSettlement(staged.key, staged.run, token, EffectSignal.RELEASE)])
        except StoreError as error:
            telemetry.warn("suspect_not_given_back", error=error)

    async def _are_there(self) -> bool:
        try:
            return await self.bench.has_suspects() or await self.effects.has_suspects()
        except StoreError as error:
            self.breakers.trip(str(error))
            return False

    async def _take_in_turn(self) -> bool:
        # A thread that overran its deadline may still take this process along: not while a suspect is judged.
        if self.stopping.is_set() or self.threads.are_overrunning:
            return False
        try:
            with self.breakers.turn() as may_start:
                return may_start and await self.take()
        except StoreError as error:
            self.breakers.trip(str(error))
            return False

    async def _take_in_time(self) -> bool:
        taking = asyncio.ensure_future(self._take_in_turn())
        stopped = asyncio.ensure_future(self.stopping.wait())
        try:
            await asyncio.wait([taking, stopped], return_when=asyncio.FIRST_COMPLETED)
            if not taking.done():
                await asyncio.wait([taking], timeout=SUSPECT_FINISH_SECONDS)
            if taking.done():
                return taking.result()
            await self.give_back()
            return False
        finally:
            for task in (taking, stopped):
                task.cancel()
            await asyncio.gather(taking, stopped, return_exceptions=True)
