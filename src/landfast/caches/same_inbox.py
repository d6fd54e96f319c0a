"""Whether the inbox is still the one that the cache knows. One that was restored from a backup, or failed over and lost
its tail, has forgotten events that the cache would still call duplicates.

No clock decides that: the inbox is asked for the newest events of which the cache was told. It knows all of them, or it
is an older one; then a new epoch is drawn, and what was seen in the old one is never looked at again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast import telemetry
from landfast.caches.redis_marks import RECENT_EVENTS, RedisMarks, Timeline
from landfast.domain.ids import EventId, InboxId
from landfast.ports.inbox import Memory

EVENTS_PER_QUESTION = 1_000
"""Events in one question to the inbox: a few milliseconds for either database."""

GLANCE_EVENTS = 1_000
"""Events that are asked for every few seconds: a database that lost its tail has lost what was the newest then. So many
come in five seconds at 200 a second; with more, somebody is always in the middle of a COMMIT, and notices."""


class Origin(Memory, Protocol):
    """An inbox, as far as a cache must know it."""

    async def identity(self) -> InboxId: ...


async def believable(marks: RedisMarks, inbox: Origin) -> Timeline | None:
    """The timeline under which the cache and the inbox agree, a new one if they do not. None while another intake is
    drawing that one: ask again."""
    timeline = await _present(inbox)
    if await _agree(marks, inbox, timeline):
        return timeline
    if not await marks.take_turn(timeline.inbox):
        return None
    # Another may have drawn one just before it was our turn.
    timeline = await _present(inbox)
    if not await _agree(marks, inbox, timeline):
        # Crash before it, or after it and before its list is there: the next one to look finds no list, and draws.
        timeline = timeline._replace(epoch=await inbox.renew_epoch(timeline.epoch))
        await marks.begin(timeline)
        telemetry.info("cache_distrusted", inbox=timeline.inbox, epoch=timeline.epoch)
    await marks.end_turn(timeline.inbox)
    return timeline


async def still_holds(marks: RedisMarks, inbox: Origin, timeline: Timeline) -> bool:
    """Whether nothing has changed, as far as a glance can tell."""
    if timeline != await _present(inbox):
        return False
    return await _agree(marks, inbox, timeline, GLANCE_EVENTS)


async def _present(inbox: Origin) -> Timeline:
    return Timeline.under(await inbox.mac_key(), await inbox.identity(), await inbox.epoch())


async def _agree(marks: RedisMarks, inbox: Origin, timeline: Timeline, count: int = RECENT_EVENTS) -> bool:
    recent = await marks.recent(timeline, count)
    return recent is not None and await _knows_all(inbox, recent)


async def _knows_all(inbox: Origin, events: Sequence[EventId]) -> bool:
    for start in range(0, len(events), EVENTS_PER_QUESTION):
        asked = events[start : start + EVENTS_PER_QUESTION]
        if not await inbox.known(asked) >= set(asked):
            return False
    return True
