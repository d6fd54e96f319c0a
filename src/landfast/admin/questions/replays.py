"""Replays of many events: what one would do, and how far each has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from landfast.admin.desk import Desk
from landfast.admin.parameters import Answered, Asked, Counted, FilterText, Name, Rows
from landfast.admin.questions.events import EventRow, rows_of
from landfast.domain.filter import Filter, text_of
from landfast.domain.ids import HandlerName
from landfast.domain.job import Job
from landfast.domain.outcome import NextRun
from landfast.operations.replay_jobs import find_job
from landfast.recovery import replay as recovery
from landfast.recovery.redacted import redacted_row

SAMPLE = 3
"""Events of a preview: enough to see that they are the right ones."""


class ReplaysAsked(Asked):
    limit: Rows = 50


class JobAsked(Asked):
    job: Name
    """Its name, or as many of its first digits as tell it from every other."""


class PreviewAsked(Asked):
    filter: FilterText
    """Dead letters, unless it names a state."""


class DryRunAsked(Asked):
    filter: FilterText = ""
    event: str = ""
    """Its id, in place of a filter."""
    handler: str = ""
    forced: bool = False
    sample: Rows = SAMPLE


class JobView(Answered):
    job: str
    state: str
    is_carried: bool
    """Whether somebody carries it out now."""
    replayed: int
    looked_at: int
    total: int
    """How many matched when it began, as far as they were counted."""
    filter: str
    who: str
    why: str
    forced: bool
    handler: str | None
    rate: float | None
    canary: int
    waits_for_canaries: int
    """How many whose outcome it waits for now."""
    oldest_first: bool
    is_background: bool
    begun_at: datetime
    updated_at: datetime
    message: str


class Replays(Answered):
    jobs: Sequence[JobView]
    """Those that run first, then the newest."""


class Preview(Answered):
    count: Counted
    """What `confirm` of the command has to say: nobody replays more than they have seen."""
    filter: str
    """As it was understood, with all times absolute."""
    sample: Sequence[EventRow]


class DryRun(Answered):
    """What the handlers of a few would do, in transactions that were rolled back."""

    events: Sequence[Mapping[str, Any]]


async def replays(desk: Desk, asked: ReplaysAsked) -> Replays:
    """Replays of many events, those that run first."""
    return Replays(jobs=[job_view(job) for job in await desk.archive.jobs(limit=asked.limit)])


async def replay(desk: Desk, asked: JobAsked) -> JobView:
    """One replay: how far it has come."""
    return job_view(await find_job(desk.archive, asked.job))


async def preview(desk: Desk, asked: PreviewAsked) -> Preview:
    """How many events a filter would replay, and a few of them."""
    chosen = desk.shown(recovery.wanted(asked.filter, now=desk.now()))
    count = await recovery.count(desk.archive, chosen)
    sample = await desk.archive.find(chosen, limit=SAMPLE)
    return Preview(
        count=Counted(number=count, is_more=count >= recovery.COUNT_AT_MOST),
        filter=text_of(chosen),
        sample=rows_of(desk, sample),
    )


async def dry_run(desk: Desk, asked: DryRunAsked) -> DryRun:
    """What the handlers of a few would do: they run, in transactions that are rolled back."""
    from landfast.admin.questions.event import found_event
    from landfast.app.rehearse import rehearse  # late: the prover takes its time to import

    if asked.event:
        event = (await found_event(desk, asked.event)).summary
        chosen = Filter(source=event.source, key=event.key)
    else:
        chosen = desk.shown(recovery.wanted(asked.filter, now=desk.now()))
    how = NextRun(asked.forced, HandlerName(asked.handler) if asked.handler else None)
    found = await rehearse(desk.inbox, chosen, how, sample=1 if asked.event else asked.sample)
    return DryRun(
        events=[
            {
                "event": event.event_id.hex(),
                "key": event.key,
                "type": event.type,
                "handlers": [redacted_row(asdict(one), desk.redaction) for one in each],
            }
            for event, each in found
        ]
    )


def job_view(job: Job) -> JobView:
    plan = job.plan
    return JobView(
        job=job.name,
        state=job.state,
        is_carried=job.is_carried,
        replayed=job.replayed,
        looked_at=job.looked_at,
        total=plan.total,
        filter=plan.terms,
        who=plan.who,
        why=plan.why,
        forced=plan.forced,
        handler=plan.only,
        rate=plan.rate,
        canary=plan.canary,
        waits_for_canaries=len(job.canaries) if job.needs_canary else 0,
        oldest_first=plan.oldest_first,
        is_background=plan.is_background,
        begun_at=job.created_at,
        updated_at=job.updated_at,
        message=job.message,
    )
