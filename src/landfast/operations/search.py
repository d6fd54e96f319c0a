"""Look for events within a bounded time, and say honestly how far one has looked.

A filter that matches little may have to walk through everything that ever came. A person at a screen is better served
by what the newest events have, a sentence that says how many those were, and a way to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from landfast.domain.filter import Filter
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import PLACES, Place
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.clock import Clock
from landfast.ports.inbox import Archive

SEARCH_SECONDS = 0.2
"""No stretch is begun that would end later: a page is there in 300 ms, most of the time."""

FIRST_STRETCH_EVENTS = 5_000
"""Looked at first: some 10 to 50 ms. Each stretch after it is twice as long."""

_BEFORE_ALL = EventId(bytes(16))
"""The least id: with it a cursor stands behind everything of its moment."""


@dataclass(frozen=True, slots=True)
class Found:
    events: Sequence[EventSummary]
    cursor: Cursor | None
    """To go on from; None where there is nothing left."""
    searched: int | None = None
    """So many of the newest were looked at, behind the cursor that was given; None where all were."""
    back_to: datetime | None = None
    """When the last of those arrived."""


@dataclass(frozen=True, slots=True)
class Counting:
    number: int
    searched: int | None = None
    """As of `Found`."""


async def search(
    archive: Archive, wanted: Filter, *, limit: int, after: Cursor | None, oldest_first: bool, clock: Clock
) -> Found:
    """Events that match, as `Archive.find` has them."""
    if oldest_first or _is_quick(wanted):
        page = await archive.find(wanted, limit=limit, after=after, oldest_first=oldest_first)
        return Found(page, _behind(page) if len(page) == limit else None)
    found: list[EventSummary] = []
    stretches = _Stretches(archive, wanted, after, clock)
    while (part := await stretches.next()) is not None:
        found += await archive.find(part, limit=limit - len(found), after=stretches.begin)
        if len(found) == limit:
            return Found(found, _behind(found))
    return Found(found, stretches.rest, stretches.searched, stretches.back_to)


async def count(archive: Archive, wanted: Filter, *, at_most: int, clock: Clock) -> Counting:
    """How many match, counting no further than `at_most`."""
    if wanted == Filter() and await archive.horizon(after=None, events=at_most) is not None:
        # More bodies than that. One that no event has any more may be among them, and changes no "or more".
        return Counting(at_most)
    if _is_quick(wanted):
        return Counting(await archive.count(wanted, at_most=at_most))
    number, stretches = 0, _Stretches(archive, wanted, None, clock)
    while number < at_most and (part := await stretches.next()) is not None:
        if stretches.begin is not None:
            part = replace(part, before=stretches.begin.received_at)
        number += await archive.count(part, at_most=at_most - number)
    return Counting(number, stretches.searched)


class _Stretches:
    """One after the other, from the newest on, until the time is over or there is nothing left."""

    def __init__(self, archive: Archive, wanted: Filter, after: Cursor | None, clock: Clock) -> None:
        self._archive = archive
        self._wanted = wanted
        self._clock = clock
        self._began = self._stretch_began = clock.monotonic()
        self._events = FIRST_STRETCH_EVENTS
        self._looked_at = 0
        self.begin = after
        """Where the stretch begins that `next` has given."""
        self.rest = _least(after, wanted.before)
        """Where the next one would; None where there is nothing left."""
        self.back_to: datetime | None = None
        self._is_first = True

    @property
    def searched(self) -> int | None:
        return None if self.rest is None else self._looked_at

    async def next(self) -> Filter | None:
        """The filter for the next stretch."""
        if not self._is_first and (self.rest is None or self._would_end() > self._began + SEARCH_SECONDS):
            return None
        self._is_first, self.begin = False, self.rest
        self._stretch_began = self._clock.monotonic()
        horizon = await self._archive.horizon(after=self.begin, events=self._events)
        since = self._wanted.since
        if horizon is None or (since is not None and horizon <= since):
            self.rest = self.back_to = None
            return self._wanted
        self._looked_at += self._events
        self._events *= 2
        self.rest, self.back_to = Cursor(horizon, _BEFORE_ALL), horizon
        return replace(self._wanted, since=horizon)

    def _would_end(self) -> float:
        """The next one, which is twice as long as the last one was."""
        now = self._clock.monotonic()
        return now + 2 * (now - self._stretch_began)


def _is_quick(wanted: Filter) -> bool:
    """Whether an index leads there, or everything of a time matches."""
    place = None if wanted.state is None else PLACES[wanted.state]
    if place in {Place.WORK, Place.SHELF} or wanted.has_failed or (wanted.source and wanted.key):
        return True
    return replace(wanted, since=None, before=None) == Filter()


def _behind(page: Sequence[EventSummary]) -> Cursor:
    return Cursor(page[-1].received_at, page[-1].event_id)


def _least(after: Cursor | None, before: datetime | None) -> Cursor | None:
    """What is at `before` or later does not match, and is not walked through."""
    if before is None or (after is not None and after.received_at <= before):
        return after
    return Cursor(before, _BEFORE_ALL)
