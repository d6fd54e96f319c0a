"""Replays of many events as jobs, which outlive whoever carries them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from landfast.domain.ids import EventId, Token
from landfast.domain.job import Job, JobId, JobState, Plan
from landfast.domain.summary import Cursor


class JobBoard(Protocol):
    async def add_job(self, job: JobId, plan: Plan) -> None:
        """It is running from now on, and nobody carries it out yet. Jobs that were over for 90 days are forgotten."""
        ...

    async def jobs(self, *, limit: int, job: JobId | None = None) -> Sequence[Job]:
        """Those that run first, then all others, the newest first: whoever looks at a few misses none that nobody
        carries out any more. Or this one alone."""
        ...

    async def take_job(self, job: JobId | None, *, token: Token, lease: float) -> Job | None:
        """Carry out this running job, or the oldest that a worker may carry out, for `lease` seconds, unless somebody
        does already. Of several who ask at the same time one gets it."""
        ...

    async def step_job(
        self,
        job: JobId,
        events: Sequence[EventId],
        *,
        token: Token,
        lease: float,
        cursor: Cursor,
        looked_at: int,
        is_canary: bool,
    ) -> int | None:
        """Replay these events as the job's plan says, and note in the same COMMIT how far it has come, and whether it
        waits for these as its canaries or has passed that; how many were replayed. The lease is renewed. None, and
        nothing changes, where the job runs no longer or somebody else carries it out."""
        ...

    async def hold_job(self, job: JobId, *, token: Token, lease: float) -> bool:
        """Renew the lease; whether the job still runs and is ours."""
        ...

    async def end_job(self, job: JobId, state: JobState, *, token: Token | None = None, message: str = "") -> bool:
        """Lead it to this state, where `domain.job` lets it, and let go of it; with a token, only where it is ours.
        Whether it did."""
        ...

    async def reopen_job(self, job: JobId, *, is_background: bool) -> bool:
        """Make one run again that was stopped or failed, from where it is, or one that nobody carries out. Canaries
        that it waited for are waited for no longer. Whether it did."""
        ...
