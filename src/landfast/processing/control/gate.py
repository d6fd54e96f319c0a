"""Many hands at once, or one suspect alone: only then is a crash the suspect's own.

Held only where suspects have no process of their own: in an application that mounts the inbox, and on a ledger with one
writer. A handler that is inside may stay until its deadline. So newcomers are held back for a while only, and then left
alone for ten times as long. The price is that a suspect may wait: on a worker that is always busy with slow handlers,
for as long as that lasts.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from landfast.ports.clock import Clock

FIRST_HOLD_SECONDS = 5.0
"""For how long newcomers are held back at first. Nearly every handler and effect has ended by then."""

REST_RATIO = 10
"""After a hold in vain newcomers are left alone for so many times its length: they lose a tenth of their time."""


class Gate:
    def __init__(self, clock: Clock, longest_hold: Callable[[], float]) -> None:
        """`longest_hold` is for how many seconds one function may stay inside. A hold of that length outlasts any of
        them. A longer one would only cost the others more."""
        self._clock = clock
        self._longest_hold = longest_hold
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
        self._hold = max(FIRST_HOLD_SECONDS, min(2 * self._hold, self._longest_hold()))
        return False

    def _let_in(self) -> None:
        self._is_held = False
        self._changed.notify_all()
