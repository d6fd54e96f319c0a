"""What is decided about events: try them now, close, hold, admit or erase them, go on without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec

from landfast.admin.commands.replays import CountChangedError
from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, EventName, FilterText, Why
from landfast.admin.questions.event import found_event
from landfast.domain.access import Operator
from landfast.domain.errors import UserError
from landfast.domain.filter import Filter, parse
from landfast.domain.summary import EventSummary
from landfast.operations import dead_letters, erasing, one_event
from landfast.operations.failure_groups import dead_ones, delayed_ones
from landfast.recovery import held
from landfast.recovery.held import Decision

EVENTS_AT_ONCE = 500
"""Named by hand, or by the boxes of a page."""

Events = Annotated[Sequence[EventName], msgspec.Meta(max_length=EVENTS_AT_ONCE)]


Confirm = Annotated[int, msgspec.Meta(ge=0, le=10_000_000, description="How many events it is about.")]


class Chosen(Asked):
    """By name, or by a filter."""

    events: Events = ()
    """Ids or keys."""
    filter: FilterText = ""
    why: Why = ""
    confirm: Confirm | None = None
    """How many events it is about: where another number match by then, nothing is changed. Optional."""


class Changed(Answered):
    changed: int
    """How many. The others were in another state."""


class EraseThese(Asked):
    confirm: Confirm
    """How many events it is about: what is erased is gone."""
    events: Events = ()
    filter: FilterText = ""
    why: Why = ""


class ErasedView(Answered):
    erased: int
    before: int
    """Erased at an earlier time."""
    in_hand: int
    """Claimed by a worker, and so left as they were: ask again when it is done."""
    is_clean: bool
    """Whether nothing of it is left in the files of the databases."""


async def retry(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Try delayed events now, and not when their backoff is over."""
    archive, who = desk.archive, by.name
    if events := await _named(desk, asked):
        ids = [event.event_id for event in events]
        return Changed(changed=await dead_letters.retry(archive, ids, who=who, why=asked.why))
    chosen = desk.shown(delayed_ones(asked.filter, now=desk.now(), command="retry"))
    await _must_be_confirmed(desk, asked, chosen)
    return Changed(changed=await dead_letters.retry_all(archive, chosen, who=who, why=asked.why))


async def discard(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Close dead letters for good. They are done, without a receipt, and say who decided and why."""
    archive, who = desk.archive, by.name
    if events := await _named(desk, asked):
        ids = [event.event_id for event in events]
        return Changed(changed=await dead_letters.discard(archive, ids, who=who, why=asked.why))
    chosen = desk.shown(dead_ones(asked.filter, now=desk.now(), command="discard"))
    await _must_be_confirmed(desk, asked, chosen)
    return Changed(changed=await dead_letters.discard_all(archive, chosen, who=who, why=asked.why))


async def hold(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Keep events that wait from being processed until somebody decides: by name alone. Later events of their entities
    go on."""
    if asked.filter:
        raise UserError("filter: name the events to hold; to stop all of a source, pause it")
    events = await _named(desk, asked)
    changed = [await one_event.hold(desk.archive, event, who=by.name, why=asked.why) for event in events]
    return Changed(changed=sum(changed))


async def admit(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Process held events as any other."""
    return await _decide(desk, asked, by, Decision.ADMIT)


async def refuse(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Make held events dead letters."""
    return await _decide(desk, asked, by, Decision.DISCARD)


async def skip(desk: Desk, asked: Chosen, by: Operator) -> Changed:
    """Have the lanes of dead letters go on without them: by name alone."""
    if asked.filter:
        raise UserError("filter: name the events; a lane is not skipped by a filter")
    events = await _named(desk, asked)
    skipped = [await one_event.skip(desk.archive, event, who=by.name, why=asked.why) for event in events]
    return Changed(changed=sum(skipped))


async def erase(desk: Desk, asked: EraseThese, by: Operator) -> ErasedView:
    """Destroy what events brought and what was written about them, in both databases."""
    stores = await desk.stores()
    named = await _named(desk, Chosen(events=asked.events, filter=asked.filter))
    chosen = parse(asked.filter, now=desk.now())
    count = len(named) or await desk.archive.count(chosen, at_most=asked.confirm + 1)
    if count != asked.confirm:
        raise UserError(f"confirm: it is about another number of events than {asked.confirm:,}; count again")
    who, why, places = by.name, asked.why, (stores.inbox, stores.ledger, stores.identity)
    if named:
        report, is_clean = await erasing.erase_these(*places, named, who=who, why=why)
    else:
        report, is_clean = await erasing.erase_all(*places, chosen, who=who, why=why, asked=asked.filter)
    return ErasedView(erased=report.erased, before=report.before, in_hand=report.in_hand, is_clean=is_clean)


async def _decide(desk: Desk, asked: Chosen, by: Operator, decision: Decision) -> Changed:
    who, why = by.name, asked.why
    if events := await _named(desk, asked):
        decided = [await one_event.decide_one(desk.archive, event, decision, who=who, why=why) for event in events]
        return Changed(changed=sum(decided))
    chosen = held.wanted(asked.filter, now=desk.now())
    await _must_be_confirmed(desk, asked, chosen)
    changed = await one_event.decide_all(desk.archive, chosen, decision, who=who, why=why, asked=asked.filter)
    return Changed(changed=changed)


async def _must_be_confirmed(desk: Desk, asked: Chosen, chosen: Filter) -> None:
    if asked.confirm is None:
        return
    count = await desk.archive.count(chosen, at_most=asked.confirm + 1)
    if count != asked.confirm:
        raise CountChangedError(f"confirm: another number of events than {asked.confirm:,} match now; count again")


async def _named(desk: Desk, asked: Chosen) -> list[EventSummary]:
    """Those that were named; none where a filter is given in their place."""
    if bool(asked.events) == bool(asked.filter.strip()):
        raise UserError("events, filter: give the one or the other; all of them is a filter such as since:90d")
    if asked.events and asked.confirm not in {None, len(asked.events)}:
        raise CountChangedError(f"confirm: {len(asked.events):,} events are named; say that number, or leave it out")
    return [(await found_event(desk, name)).summary for name in asked.events]
