"""Replay: an operator starts a new run of events, always under their original key.

A replay that is interrupted is continued by the same filter: an event that was replayed is dead no longer, so it
does not match again. A done event does match again. For those a replay has a `mark`, the store's own time of its first
replayed event, and one that continues from a mark skips every event that was replayed at or after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import Signal, State, from_states
from landfast.domain.summary import Cursor, EventSummary
from landfast.ports.clock import Clock
from landfast.ports.inbox import Archive

REPLAY_CHUNK_EVENTS = 200
"""Events per transaction: a few milliseconds, so that intake and workers never wait for a replay, and so little that
stopping between two is prompt."""

COUNT_AT_MOST = 1_000_000
"""A preview counts no further: beyond it the exact number changes no decision, and counting would take seconds."""


@dataclass(frozen=True, slots=True)
class Progress:
    replayed: int
    looked_at: int
    mark: datetime | None
    """The store's time of the first event replayed: what `since_mark` takes to continue."""


def wanted(text: str, *, now: datetime) -> Filter:
    """A filter as an operator means it: dead letters, unless a state is named."""
    found = parse(text, now=now)
    if found.state is None:
        return replace(found, state=State.DEAD)
    if found.state not in from_states(Signal.REPLAY):
        named = ", ".join(sorted(from_states(Signal.REPLAY)))
        raise UserError(f"replay: an event that is {found.state} cannot be replayed; choose state: one of {named}")
    return found


async def count(archive: Archive, chosen: Filter) -> int:
    """The dry count: how many would be replayed, counting to a million at most."""
    return await archive.count(chosen, at_most=COUNT_AT_MOST)


async def replay(
    archive: Archive,
    chosen: Filter,
    *,
    forced: bool,
    who: str,
    clock: Clock,
    rate: float | None = None,
    since_mark: datetime | None = None,
    report: Callable[[Progress], None] = lambda _: None,
) -> Progress:
    """Replay all that match, newest first, at most `rate` a second. Cancelling it between two chunks, or in one, leaves
    each event either replayed or as it was. Events that die again on the way are not replayed twice: the
    listing only ever goes on to older ones."""
    began = clock.monotonic()
    progress = Progress(0, 0, since_mark)
    size = REPLAY_CHUNK_EVENTS if rate is None else max(1, min(REPLAY_CHUNK_EVENTS, int(rate)))
    cursor: Cursor | None = None
    while found := await archive.find(chosen, limit=size, after=cursor):
        cursor = Cursor(found[-1].received_at, found[-1].event_id)
        due = await _not_replayed_since(archive, found, since_mark)
        # Crash before it: these wait as they did, and the same filter finds them. After it: they are ready.
        replayed = await archive.replay([event.event_id for event in due], forced=forced, who=who) if due else 0
        mark = progress.mark or (await _replayed_at(archive, due[0].event_id) if replayed else None)
        progress = Progress(progress.replayed + replayed, progress.looked_at + len(found), mark)
        report(progress)
        if rate is not None:
            await clock.sleep(max(0.0, progress.replayed / rate - (clock.monotonic() - began)))
    return progress


async def replay_one(archive: Archive, event: EventId, *, forced: bool, who: str) -> bool:
    """Whether a new run was started; not for an event that is on its way already."""
    return await archive.replay([event], forced=forced, who=who) == 1


async def _not_replayed_since(
    archive: Archive, found: Sequence[EventSummary], mark: datetime | None
) -> Sequence[EventSummary]:
    if mark is None:
        return found
    due = []
    for event in found:
        last = await _replayed_at(archive, event.event_id)
        if last is None or last < mark:
            due.append(event)
    return due


async def _replayed_at(archive: Archive, event: EventId) -> datetime | None:
    record = await archive.show(event)
    lines = record.history if record is not None else ()
    return max((line.at for line in lines if line.signal is Signal.REPLAY), default=None)
