"""Replays: of one event at once, of many as a job that a worker carries out."""

from __future__ import annotations

from typing import Annotated

import msgspec

from landfast.admin.access.guard import NotAllowedError
from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, EventName, FilterText, Name, Why
from landfast.admin.problems import AdminError
from landfast.admin.questions.event import found_event
from landfast.admin.questions.replays import JobView, job_view
from landfast.config import nearest
from landfast.domain.access import Operator, Role
from landfast.domain.errors import UserError
from landfast.domain.ids import HandlerName
from landfast.domain.job import CANARIES_AT_MOST, Plan
from landfast.operations import replay_jobs as operations
from landfast.operations.one_event import must_have_content, replay_one
from landfast.recovery import replay as recovery

GREW_BY = 0.1
"""By which the number of events may have grown between the preview and the confirmation: what dies meanwhile of the
same cause is meant, too. More is another decision."""


class CountChangedError(AdminError):
    """Other events match now than when somebody looked."""

    status, title = 409, "Look again"


class ReplayEvent(Asked):
    event: EventName
    handler: str = ""
    """Run this handler alone; what the others came to stands."""
    forced: bool = False
    """Run handlers again that are done already: their writes happen once more. It takes the role admin."""
    why: Why = ""


class Replayed(Answered):
    replayed: bool
    """False for one that is on its way already."""
    state: str
    """That it was in."""


class StartReplay(Asked):
    filter: FilterText
    """Dead letters, unless it names a state."""
    confirm: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)]
    """The number that the preview said."""
    rate: Annotated[float, msgspec.Meta(ge=0.1, le=100_000)] | None = None
    """Events a second, at most."""
    canary: Annotated[int, msgspec.Meta(ge=0, le=CANARIES_AT_MOST)] = 0
    """Replay so many first, and the rest once each of them is done."""
    oldest_first: bool = False
    handler: str = ""
    forced: bool = False
    """As of one event: the role admin."""
    why: Why = ""


class ChangeJob(Asked):
    job: Name
    why: Why = ""


class Cancelled(Answered):
    was_running: bool
    """False where it was over already."""
    job: JobView


async def replay_event(desk: Desk, asked: ReplayEvent, by: Operator) -> Replayed:
    """Run one event again, under its original key."""
    event = (await found_event(desk, asked.event)).summary
    must_have_content(event)
    _may_force(asked.forced, by)
    handler = _handler(desk, asked.handler)
    replayed = await replay_one(desk.archive, event, forced=asked.forced, only=handler, who=by.name, why=asked.why)
    return Replayed(replayed=replayed, state=event.state)


async def start(desk: Desk, asked: StartReplay, by: Operator) -> JobView:
    """Replay all that match a filter: a job that a worker carries out, so that no browser has to stay open."""
    _may_force(asked.forced, by)
    now = desk.now()
    chosen = desk.shown(recovery.wanted(asked.filter, now=now))
    count = await recovery.count(desk.archive, chosen)
    if not count:
        raise UserError("filter: nothing matches, so there is nothing to replay")
    if count > asked.confirm * (1 + GREW_BY) or count < asked.confirm * (1 - GREW_BY):
        raise CountChangedError(f"confirm: {count:,} match now, and {asked.confirm:,} when you looked; look again")
    plan = Plan(
        "",
        by.name,
        asked.why,
        asked.forced,
        _handler(desk, asked.handler),
        rate=asked.rate,
        canary=asked.canary,
        oldest_first=asked.oldest_first,
        is_background=True,
        total=count,
    )
    inbox = desk.inbox
    return job_view(
        await operations.replay_all(desk.archive, chosen, plan, clock=inbox.clock, chance=inbox.chance, now=now)
    )


async def cancel(desk: Desk, asked: ChangeJob, by: Operator) -> Cancelled:
    """End a replay for good. What it had replayed runs."""
    job = await operations.find_job(desk.archive, asked.job)
    was_running = await operations.cancel(desk.archive, job, who=by.name, why=asked.why)
    return Cancelled(was_running=was_running, job=job_view(await operations.find_job(desk.archive, job.name)))


async def resume(desk: Desk, asked: ChangeJob, by: Operator) -> JobView:
    """Go on with a replay that was stopped or has failed. A forced one takes the role admin, as to begin one does."""
    job = await operations.find_job(desk.archive, asked.job)
    _may_force(job.plan.forced, by)
    return job_view(
        await operations.resume(
            desk.archive,
            job,
            who=by.name,
            why=asked.why,
            is_background=True,
            clock=desk.inbox.clock,
            chance=desk.inbox.chance,
        )
    )


def _may_force(forced: bool, by: Operator) -> None:  # noqa: FBT001 - what was asked for
    if forced and not by.role.may(Role.ADMIN):
        raise NotAllowedError(f"forced: writes a second time what is done; the role admin is needed, not {by.role}")


def _handler(desk: Desk, name: str) -> HandlerName | None:
    known = [handler.name for handler in desk.inbox.registry.handlers]
    if name and known and name not in known:
        hint = nearest(name, known) or f"; there are {', '.join(known)}"
        raise UserError(f"handler: no handler is called {name!r}{hint}")
    return HandlerName(name) if name else None
