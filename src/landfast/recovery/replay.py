"""Replay: an operator starts a new run of events, always under their original key. Many are a job, which is in
`operations.replay_jobs`."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import EventId, HandlerName
from landfast.domain.lifecycle import Signal, State, from_states
from landfast.ports.inbox import Archive

COUNT_AT_MOST = 1_000_000
"""A preview counts no further: beyond it the exact number changes no decision, and counting would take seconds."""


def wanted(text: str, *, now: datetime) -> Filter:
    """A filter as an operator means it: dead letters, unless a state is named."""
    found = parse(text, now=now)
    if found.state is None:
        return replace(found, state=State.DEAD)
    if found.state not in from_states(Signal.REPLAY):
        named = ", ".join(sorted(from_states(Signal.REPLAY)))
        hint = "; landfast retry has delayed ones tried now" if found.state is State.DELAYED else ""
        raise UserError(
            f"replay: an event that is {found.state} cannot be replayed; choose state: one of {named}{hint}"
        )
    return found


async def count(archive: Archive, chosen: Filter) -> int:
    """How many would be replayed, counting to a million at most."""
    return await archive.count(chosen, at_most=COUNT_AT_MOST)


async def replay_one(
    archive: Archive, event: EventId, *, forced: bool, who: str, only: HandlerName | None = None
) -> bool:
    """Whether a new run was started; not for an event that is on its way already."""
    return await archive.replay([event], forced=forced, who=who, only=only) == 1
