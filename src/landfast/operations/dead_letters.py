"""What an operator decides about events that failed: try them now, or close them for good."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, text_of
from landfast.domain.ids import EventId
from landfast.domain.operator_log import Action
from landfast.domain.summary import Cursor
from landfast.operations.operator_log import Audit, audited
from landfast.ports.inbox import Inbox

DECIDED_AT_ONCE = 200
"""Events per transaction, as in a replay: intake and workers never wait for it."""

COUNT_AT_MOST = 1_000_000
"""A preview counts no further: beyond it the exact number changes no decision."""


async def count(inbox: Inbox, chosen: Filter) -> int:
    return await inbox.count(chosen, at_most=COUNT_AT_MOST)


async def retry_all(inbox: Inbox, chosen: Filter, *, who: str, why: str = "") -> int:
    """Have all delayed events that match tried now; how many. If it is interrupted, the same filter goes on with it."""
    async with audited(inbox, Action.RETRY, who=who, why=why, what={"filter": text_of(chosen)}) as audit:
        return await _each_chunk(inbox, chosen, lambda events: inbox.hasten(events, who=who), audit)


async def retry(inbox: Inbox, events: Sequence[EventId], *, who: str, why: str = "") -> int:
    """Those of them that are delayed; how many."""
    async with audited(inbox, Action.RETRY, who=who, why=why, what={"events": len(events)}) as audit:
        hastened = await inbox.hasten(events, who=who)
        audit.touched(events, count=hastened)
        return hastened


async def discard_all(inbox: Inbox, chosen: Filter, *, who: str, why: str) -> int:
    """Close all dead letters that match; how many. As `retry_all` if it is interrupted."""
    _must_say_why(why)
    async with audited(inbox, Action.DISCARD, who=who, why=why, what={"filter": text_of(chosen)}) as audit:
        return await _each_chunk(inbox, chosen, lambda events: inbox.close_dead(events, who=who, why=why), audit)


async def discard(inbox: Inbox, events: Sequence[EventId], *, who: str, why: str) -> int:
    """Those of them that are dead; how many."""
    _must_say_why(why)
    async with audited(inbox, Action.DISCARD, who=who, why=why, what={"events": len(events)}) as audit:
        closed = await inbox.close_dead(events, who=who, why=why)
        audit.touched(events, count=closed)
        return closed


async def _each_chunk(
    inbox: Inbox, chosen: Filter, decide: Callable[[list[EventId]], Awaitable[int]], audit: Audit
) -> int:
    """Only ever on to older ones: what fails again at once is not met a second time."""
    decided, cursor = 0, None
    while found := await inbox.find(chosen, limit=DECIDED_AT_ONCE, after=cursor):
        cursor = Cursor(found[-1].received_at, found[-1].event_id)
        events = [event.event_id for event in found]
        changed = await decide(events)
        audit.touched(events, count=changed)
        decided += changed
    return decided


def _must_say_why(why: str) -> None:
    if not why.strip():
        raise UserError('dead discard: say why, for whoever asks later: --why "a test of the sender\'s"')
