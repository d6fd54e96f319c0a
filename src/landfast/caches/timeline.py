"""Whether the inbox is still the one that the cache knows. One that was restored from a backup, or failed over and lost
its tail, has forgotten events that the cache would still call duplicates.

No clock decides that: the inbox is asked for the newest events of which the cache was told. It knows all of them, or it
is an older one; then a new epoch is drawn, and what was seen in the old one is never looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from redis.exceptions import RedisError

from landfast import telemetry
from landfast.caches.redis import RECENT, RedisMarks, Timeline
from landfast.domain.ids import EventId, InboxId
from landfast.ports.inbox import Memory

ASKED_AT_ONCE = 1_000
"""Events in one question to the inbox: a few milliseconds for either database."""

GLANCE = 100
"""Events that are asked for now and then: a database that lost its tail has lost the very newest."""


TRIES = 5
"""Intakes that start at the same moment may draw one after the other. A server too small for a list never keeps one."""


class Origin(Memory, Protocol):
    """An inbox, as far as a cache must know it."""

    async def identity(self) -> InboxId: ...


async def believable(marks: RedisMarks, inbox: Origin) -> Timeline:
    """The timeline under which the cache and the inbox agree, a new one if they do not."""
    for _ in range(TRIES):
        timeline = Timeline(await inbox.identity(), await inbox.epoch())
        recent = await marks.recent(timeline, RECENT)
        if recent is not None and await _knows_all(inbox, recent):
            return timeline
        if recent:
            telemetry.warn("the inbox has forgotten events that were seen: what was seen before is not believed")
        # Crash before it: the next one to look finds the same. After it: the list is missing, and the next one to look
        # draws an epoch of its own, as one may that looks just now. So look again: all must end with the same.
        await marks.begin(Timeline(timeline.inbox, await inbox.renew_epoch(timeline.epoch)))
    raise RedisError("it does not keep what it is told")


async def still_holds(marks: RedisMarks, inbox: Origin, timeline: Timeline) -> bool:
    """Whether nothing has changed, as far as a glance can tell."""
    if timeline != Timeline(await inbox.identity(), await inbox.epoch()):
        return False
    return await _knows_all(inbox, await marks.recent(timeline, GLANCE) or ())


async def _knows_all(inbox: Origin, events: Sequence[EventId]) -> bool:
    for start in range(0, len(events), ASKED_AT_ONCE):
        asked = events[start : start + ASKED_AT_ONCE]
        if not await inbox.known(asked) >= set(asked):
            return False
    return True
