"""What workers leave alone, as an intake process says it at `/ready`. It never makes intake less ready: a delivery is
acknowledged and kept while its handler is paused."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from landfast.domain.errors import StoreError
from landfast.domain.readiness import Readiness
from landfast.domain.switch import SwitchKind
from landfast.ports.clock import Clock
from landfast.ports.inbox import Switchboard

SWITCHES_POLL_SECONDS = 1.0
"""Seconds: as often as workers look. Load balancers ask more often, and are answered from memory."""


class PausedSwitches:
    def __init__(self, board: Switchboard, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._notices: Mapping[str, str] = {}

    def added_to(self, ready: Readiness) -> Readiness:
        """The same, with what is paused and which breakers are open."""
        return msgspec.structs.replace(ready, layers={**ready.layers, **self._notices})

    async def watch(self) -> None:
        while True:
            try:
                self._notices = await self._read()
            except StoreError:
                self._notices = {}  # what was true before the inbox went away may be so no longer
            await self._clock.sleep(SWITCHES_POLL_SECONDS)

    async def _read(self) -> Mapping[str, str]:
        switches = await self._board.switches()
        # How many, and not which: anybody may ask here, and whose webhooks we take is not their business. `doctor` and
        # `pause` say it.
        broken = sum(one.kind is SwitchKind.BREAKER for one in switches)
        told = {"paused": len(switches) - broken, "breakers": broken}
        return {name: str(count) for name, count in told.items() if count}


@asynccontextmanager
async def paused_switches(board: Switchboard, clock: Clock) -> AsyncIterator[PausedSwitches]:
    notices = PausedSwitches(board, clock)
    watching = asyncio.create_task(notices.watch())
    try:
        yield notices
    finally:
        watching.cancel()
        await asyncio.wait([watching])
