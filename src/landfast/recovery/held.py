"""Held events: an operator says whether they are processed. Nothing admits one by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import EventId
from landfast.domain.lifecycle import State
from landfast.domain.outcome import BY_OPERATOR
from landfast.domain.summary import Cursor
from landfast.ports.inbox import Archive

HELD_CHUNK_EVENTS = 200
"""Events per transaction, as in a replay: intake and workers never wait for it."""

COUNT_AT_MOST = 1_000_000
"""A preview counts no further: beyond it the exact number changes no decision."""

BECAUSE: Mapping[str, str] = MappingProxyType(
    {
        BY_OPERATOR: "an operator holds it; the operator log says why",
        "late": "older than the dedup memory: it may have been processed and forgotten",
        "disproven": "another body under a proof that came with a first one: who captured a request may have made it",
        "variant": "another body under a known key: the first one is processed under the key before the ~",
        "type": "a known body under another type, which nobody signed: the first one has the key before the ~",
    }
)
"""What the word means that an event is held for."""


class Decision(StrEnum):
    ADMIT = "admit"
    """Process it as any other event."""
    DISCARD = "discard"
    """Make it a dead letter."""


def wanted(text: str, *, now: datetime) -> Filter:
    """A filter as an operator means it: of held events only."""
    found = parse(text, now=now)
    if found.state not in (None, State.HELD):
        raise UserError(f"held: state:{found.state} are not held; leave state out, or use landfast events list")
    return replace(found, state=State.HELD)


async def count(archive: Archive, chosen: Filter) -> int:
    return await archive.count(chosen, at_most=COUNT_AT_MOST)


async def decide(archive: Archive, chosen: Filter, decision: Decision, *, who: str) -> int:
    """Decide about all that match, newest first; how many. If it is interrupted, the same filter goes on with it: what
    was decided is held no longer."""
    decided, cursor = 0, None
    while found := await archive.find(chosen, limit=HELD_CHUNK_EVENTS, after=cursor):
        cursor = Cursor(found[-1].received_at, found[-1].event_id)
        decided += await _decide(archive, [event.event_id for event in found], decision, who)
    return decided


async def decide_one(archive: Archive, event: EventId, decision: Decision, *, who: str) -> bool:
    """Whether it was held."""
    return await _decide(archive, [event], decision, who) == 1


async def _decide(archive: Archive, events: list[EventId], decision: Decision, who: str) -> int:
    move = archive.admit if decision is Decision.ADMIT else archive.discard
    return await move(events, who=who)
