"""What an operator decides about one event: run it again, take it in, put it aside, go on without it."""

from __future__ import annotations

from landfast.domain.errors import UserError
from landfast.domain.filter import Filter
from landfast.domain.ids import HandlerName
from landfast.domain.operator_log import Action
from landfast.domain.summary import EventSummary
from landfast.operations.operator_log import audited
from landfast.ports.inbox import Inbox
from landfast.recovery import held as recovery
from landfast.recovery import replay
from landfast.recovery.held import Decision


def must_have_content(event: EventSummary) -> None:
    """UserError for an event of which nothing is left to run."""
    if event.erased_at is not None:
        raise UserError(
            f"replay: this event was erased at {event.erased_at:%Y-%m-%d %H:%M} UTC; nothing is left to run"
        )
    if event.body_expired_at is not None:
        raise UserError(
            f"replay: body expired on {event.body_expired_at:%Y-%m-%d}, as [retention] says; nothing is left to run"
        )


async def replay_one(
    inbox: Inbox, event: EventSummary, *, forced: bool, only: HandlerName | None, who: str, why: str
) -> bool:
    """Whether a new run was started; not for an event that is on its way already."""
    action = Action.FORCE if forced else Action.REPLAY
    what = {"event": event.event_id, **({"handler": only} if only else {})}
    async with audited(inbox, action, who=who, why=why, what=what) as audit:
        replayed = await replay.replay_one(inbox, event.event_id, forced=forced, who=who, only=only)
        audit.touched([event.event_id], count=int(replayed))
        return replayed


async def hold(inbox: Inbox, event: EventSummary, *, who: str, why: str) -> bool:
    """Keep an event that waits from being processed until somebody decides; whether it did wait, in nobody's hands."""
    if not why.strip():
        raise UserError("hold: say why (--why); whoever decides about the event reads it")
    async with audited(inbox, Action.HOLD, who=who, why=why, what={"event": event.event_id}) as audit:
        is_held = bool(await inbox.hold([event.event_id], who=who, why=why))
        audit.touched([event.event_id], count=int(is_held))
    return is_held


async def decide_one(inbox: Inbox, event: EventSummary, decision: Decision, *, who: str, why: str) -> bool:
    """About a held one; whether it was held."""
    async with audited(inbox, Action(decision), who=who, why=why, what={"event": event.event_id}) as audit:
        decided = await recovery.decide_one(inbox, event.event_id, decision, who=who)
        audit.touched([event.event_id], count=int(decided))
    return decided


async def decide_all(inbox: Inbox, chosen: Filter, decision: Decision, *, who: str, why: str, asked: str) -> int:
    """About all held ones that match; how many."""
    async with audited(inbox, Action(decision), who=who, why=why, what={"filter": asked}) as audit:
        decided = await recovery.decide(inbox, chosen, decision, who=who)
        audit.counted(decided)
    return decided


async def skip(inbox: Inbox, event: EventSummary, *, who: str, why: str) -> bool:
    """Have the lane of a dead letter go on without it; whether it was one."""
    async with audited(inbox, Action.SKIP, who=who, why=why, what={"event": event.event_id}) as audit:
        skipped = bool(await inbox.skip([event.event_id], who=who))
        audit.touched([event.event_id], count=int(skipped))
    return skipped
