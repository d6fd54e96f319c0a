"""Many hands at once, or one suspect alone: only then is a crash the suspect's own.

Held only where suspects have no process of their own: in an application that mounts the inbox, and on a ledger with one
writer. Whoever is inside may stay until its deadline, so newcomers are held back for a while only, and then left alone
for ten times as long.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from landfast.ports.clock import Clock

FIRST_HOLD_SECONDS = 5.0
"""For how long newcomers are held back at first. Nearly every handler and effect has ended by then."""

REST_RATIO = 10
"""After a hold in vain newcomers are left alone for so many times its length: they lose a tenth of their time."""


class Gate:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed = asyncio.Condition()
        self._inside = 0
        self._is_held = False
        self._hold = FIRST_HOLD_SECONDS
        self._free_until = float("-inf")
        """Until then newcomers are not held back again."""

    @asynccontextmanager
    async def shared(self) -> AsyncIterator[None]:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_held)
            self._inside += 1
        try:
            yield
        finally:
            async with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Whether nobody else is inside, and will be until this ends. If not, ask again in a while."""
        async with self._changed:
            self._is_held = not self._inside or self._clock.monotonic() >= self._free_until
            try:
                is_alone = self._is_held and await self._is_empty_in_time()
            except BaseException:
                self._let_in()
                raise
            if not is_alone:
                self._let_in()
        began = self._clock.monotonic()
        try:
            yield is_alone
        finally:
            async with self._changed:
                if is_alone:
                    # Half of the time belongs to the others, however many suspects there are.
                    now = self._clock.monotonic()
                    self._hold, self._free_until = FIRST_HOLD_SECONDS, 2 * now - began
                    self._let_in()

    async def _is_empty_in_time(self) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(self._hold):
                await self._changed.wait_for(lambda: not self._inside)
                return True
        self._free_until = self._clock.monotonic() + REST_RATIO * self._hold
        self._hold *= 2  # whoever is inside has a deadline: one of these holds is long enough
        return False

    def _let_in(self) -> None:
        self._is_held = False
        self._changed.notify_all()
