"""Compare sources with their providers' lists by itself, as often as `reconcile` says. Every worker looks whose turn it
is, and the inbox lets one of them do it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime, timedelta
from typing import TypeVar

from landfast import telemetry
from landfast.app.reconciling import asked_of
from landfast.app.source_ages import ages_of
from landfast.app.sources import profile_of
from landfast.app.stores import open_inbox
from landfast.config import Settings, SourceSettings
from landfast.domain.errors import LandfastError
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.reconciliation import Reconciliation
from landfast.operations.reconcile import GRACE_SECONDS, OVERLAP, reconcile
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.processing.handlers.registry import Registry

T = TypeVar("T")

LOOK_EVERY_SECONDS = 60.0
FIRST_WINDOW = timedelta(hours=72)
"""How far the first run goes back: the three days for which most senders retry, and GitHub lists."""


class Schedule:
    def __init__(
        self, sources: Iterable[SourceSettings], settings: Settings, registry: Registry, clock: Clock, chance: Chance
    ) -> None:
        self._sources = {source.name: source for source in sources if source.reconcile is not None}
        self._settings = settings
        self._registry = registry
        self._clock = clock
        self._chance = chance

    @property
    def is_empty(self) -> bool:
        return not self._sources

    async def run(self) -> None:
        while True:
            await self._clock.sleep(LOOK_EVERY_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Do what is due. A connection of its own: its counts are those of a boot of their own, which ends here."""
        try:
            async with open_inbox(self._settings, self._clock, self._chance, migrate=False) as inbox:
                last = {each.source: each for each in await inbox.reconciliations()}
                now = self._clock.now()
                due = [name for name in self._sources if _is_due(last.get(name), self._sources[name], now)]
                if due:  # one for each look: the tally of a boot ends once
                    await self._reconcile(inbox, self._sources[due[0]], last.get(due[0]), now)
        except LandfastError as error:
            telemetry.warn("reconcile_failed", source="", error=error, retry_seconds=LOOK_EVERY_SECONDS)

    async def _reconcile(
        self, inbox: Inbox, source: SourceSettings, last: Reconciliation | None, now: datetime
    ) -> None:
        try:
            memory = ages_of(source, profile_of(source), self._settings).memory
            since = _since(last, now, most=timedelta(seconds=min(memory, LONGEST_DELAY)))
            asked = asked_of(source, self._settings, self._registry, since=since, now=now, dry=False)
            result = await reconcile(inbox, asked, clock=self._clock, chance=self._chance)
        except LandfastError as error:
            telemetry.warn("reconcile_failed", source=source.name, error=error, retry_seconds=GRACE_SECONDS)
            return
        if result is not None:
            counts = {"listed": result.listed, "missing": result.missing, "taken": result.taken}
            telemetry.info("reconciled", source=source.name, **counts)


@asynccontextmanager
async def with_schedule(opening: AbstractAsyncContextManager[T], schedule: Schedule) -> AsyncIterator[T]:
    """What is opened, and beside it the schedule, if there is anything on it."""
    async with opening as opened:
        task = None if schedule.is_empty else asyncio.create_task(schedule.run())
        try:
            yield opened
        finally:
            if task is not None:
                task.cancel()
                await asyncio.wait([task])


def _is_due(last: Reconciliation | None, source: SourceSettings, now: datetime) -> bool:
    if last is None:
        return True
    if last.ended_at is None:  # somebody is at it, or was interrupted
        return last.held_until is None or last.held_until <= now
    return last.begun_at + timedelta(seconds=source.reconcile or 0.0) <= now


def _since(last: Reconciliation | None, now: datetime, *, most: timedelta) -> datetime:
    """Back to where the last one began that came to its end; one that was interrupted goes on."""
    if last is None:
        return now - min(FIRST_WINDOW, most)
    since = last.since if last.ended_at is None else last.begun_at - OVERLAP - timedelta(seconds=GRACE_SECONDS)
    return max(since, now - most)
