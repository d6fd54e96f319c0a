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
from landfast.domain.micros import LONGEST_DELAY
from landfast.domain.reconciliation import Reconciliation
from landfast.operations.reconcile import GRACE_SECONDS, UNSURE, due_since, reconcile
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.processing.handlers.registry import Registry

T = TypeVar("T")

LOOK_EVERY_SECONDS = 60.0


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
                for name in due:
                    if await self._reconcile(inbox, self._sources[name], last.get(name), now):
                        break  # one for each look: the tally of a boot ends once
        except Exception as error:  # noqa: BLE001 - what is wrong with one look must not end all of them
            telemetry.warn("reconcile_failed", source="", error=error, retry_seconds=LOOK_EVERY_SECONDS)

    async def _reconcile(
        self, inbox: Inbox, source: SourceSettings, last: Reconciliation | None, now: datetime
    ) -> bool:
        """Whether it was tried. What cannot even be asked must not keep those from their turn that come after it."""
        is_tried = False
        try:
            memory = ages_of(source, profile_of(source), self._settings).memory
            since = _since(last, now, memory=timedelta(seconds=min(memory, LONGEST_DELAY)))
            asked = asked_of(source, self._settings, self._registry, since=since, now=now, dry=False)
            is_tried = True
            result = await reconcile(inbox, asked, clock=self._clock, chance=self._chance)
        except Exception as error:  # noqa: BLE001 - a provider may answer anything, and others have their turn, too
            retry = GRACE_SECONDS if is_tried else LOOK_EVERY_SECONDS
            telemetry.warn("reconcile_failed", source=source.name, error=error, retry_seconds=retry)
            return is_tried
        if result is None:  # another process was faster
            return False
        counts = {"listed": result.listed, "missing": result.missing, "taken": result.taken}
        telemetry.info("reconciled", source=source.name, **counts)
        return True


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
    if last.compared_until is None:  # it was a run by hand, of a shorter time than the first one has to go back
        return True
    return last.compared_until + UNSURE + timedelta(seconds=source.reconcile or 0.0) <= now


def _since(last: Reconciliation | None, now: datetime, *, memory: timedelta) -> datetime:
    """Back to where the source is compared; one that was interrupted goes on, and may go back further."""
    since = due_since(None if last is None else last.compared_until, now=now, memory=memory)
    if last is None or last.ended_at is not None:
        return since
    return max(min(since, last.since), now - memory)
