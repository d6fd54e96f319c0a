"""Replays that operators asked for: each worker looks for one that waits for a worker, and carries it out beside its
own work. While there are any, its hands take turns between replays and what comes in."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

from landfast import telemetry
from landfast.domain.errors import LandfastError
from landfast.domain.job import Job
from landfast.operations.replay_jobs import carry_out
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox
from landfast.processing.worker import Worker

LOOK_SECONDS = 2.0
"""Between looks at the jobs: an operator hardly notices it, and a look reads one small table."""

RECENT_JOBS = 20

LASTING = timedelta(minutes=10)
"""So long after a job's last step there may be events of it that wait behind a backlog."""


@asynccontextmanager
async def carrying_out(inbox: Inbox, worker: Worker, clock: Clock, chance: Chance) -> AsyncIterator[None]:
    task = asyncio.create_task(_for_ever(inbox, worker, clock, chance), name="landfast replay jobs")
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def _for_ever(inbox: Inbox, worker: Worker, clock: Clock, chance: Chance) -> None:
    while True:
        try:
            jobs = await inbox.jobs(limit=RECENT_JOBS)
            worker.take_turns_with_replays(is_replaying=any(_is_recent(job, clock.now()) for job in jobs))
            if any(job.waits_for_a_worker for job in jobs):
                _tell(await carry_out(inbox, None, clock=clock, chance=chance))
        except LandfastError as error:
            telemetry.warn("replay_job_failed", error=error)
        except Exception as unexpected:  # noqa: BLE001 - the worker's own work goes on, and the next look is another try
            telemetry.error("replay_job_failed", trace=unexpected)
        await clock.sleep(LOOK_SECONDS)


def _tell(ended: Job | None) -> None:
    if ended is not None:
        telemetry.info("replay_job", job=ended.name, state=ended.state, count=ended.replayed)


def _is_recent(job: Job, now: datetime) -> bool:
    return job.is_running or now - job.updated_at < LASTING
