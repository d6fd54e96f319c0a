"""Watches durability: looks every minute at what the promises rest on. A store that is unsafe counts as away.

While Landfast runs, somebody can switch off `fsync` for a bulk load, drop a unique index for a migration, or set
`max_age` on a stream. Nothing fails then, and every answer is a promise that nobody keeps.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from landfast import telemetry
from landfast.domain.delivery import Delivery, Recorded
from landfast.domain.errors import InboxUnavailableError, JournalUnavailableError, StoreError
from landfast.ports.clock import Clock
from landfast.ports.journal import Journal

SAFE_POLL_SECONDS = 60.0
"""Seconds until we notice that somebody switched something off. A look costs each database 5 ms."""

UNSAFE_POLL_SECONDS = 5.0
"""Seconds between two looks at what is unsafe: an operator who has mended it should not have to wait."""


class DurabilityWatch:
    """One store, and whether what is committed there can be relied on."""

    def __init__(self, name: str, hazards: Callable[[], Awaitable[Sequence[str]]], clock: Clock) -> None:
        self.name = name
        self.unsafe = ""
        """Why it is not safe now, with the fix; empty while it is, as far as is known."""
        self._hazards = hazards
        self._clock = clock
        self._last_error = ""

    async def look(self) -> None:
        try:
            unsafe = "; ".join(await self._hazards())
        except StoreError:
            return  # it is away, which others notice; it may come back as unsafe as it was
        except Exception as error:  # noqa: BLE001 - a look that fails must not be the last one
            if self._last_error != str(error):
                telemetry.error("store_not_checked", store=self.name, error=error)
            self._last_error = str(error)
            return
        if unsafe and unsafe != self.unsafe:
            telemetry.error("store_unsafe", store=self.name, reason=unsafe)
        elif self.unsafe and not unsafe:
            telemetry.info("store_safe", store=self.name)
        self.unsafe = unsafe

    async def wait(self) -> None:
        """Until it is time for the next look."""
        await self._clock.sleep(UNSAFE_POLL_SECONDS if self.unsafe else SAFE_POLL_SECONDS)


@asynccontextmanager
async def watching(
    *watches: DurabilityWatch, then: Callable[[], None] = lambda: None
) -> AsyncIterator[Sequence[DurabilityWatch]]:
    """Look once before anything is relied on, and go on looking. `then` is called after each look."""
    for watch in watches:
        await watch.look()
    then()
    looking = [asyncio.create_task(_watch(watch, then)) for watch in watches]
    try:
        yield watches
    finally:
        for task in looking:
            task.cancel()
        if looking:
            await asyncio.wait(looking)


async def _watch(watch: DurabilityWatch, then: Callable[[], None]) -> None:
    while True:
        await watch.wait()
        await watch.look()
        then()


class WatchedJournal:
    """Takes nothing while the store is unsafe; its callers then do what they do while it is away."""

    def __init__(self, journal: Journal, watch: DurabilityWatch) -> None:
        self._journal = journal
        self._watch = watch

    async def record(self, deliveries: Sequence[Delivery]) -> Sequence[Recorded]:
        if self._watch.unsafe:
            away = JournalUnavailableError if self._watch.name == "journal" else InboxUnavailableError
            raise away(self._watch.unsafe)
        return await self._journal.record(deliveries)
