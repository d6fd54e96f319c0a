"""Replays of many events as jobs: added, carried out step by step, ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import asyncpg
import msgspec

from landfast.domain.ids import EventId, Token
from landfast.domain.job import FORGOTTEN_AFTER_SECONDS, OVER, Job, JobId, JobState, Plan, before
from landfast.domain.lifecycle import Signal
from landfast.domain.summary import Cursor
from landfast.inboxes.postgres import moves, rows
from landfast.inboxes.postgres.connection import Connections
from landfast.inboxes.postgres.statements import SQL

_plan = msgspec.json.Decoder(Plan).decode


class Jobs:
    _connections: Connections

    async def add_job(self, job: JobId, plan: Plan) -> None:
        # Dead before the COMMIT: there is no job, and nothing was replayed.
        async with self._connections.transaction() as connection:
            await connection.execute(SQL["job_forget"], [*OVER], FORGOTTEN_AFTER_SECONDS)
            what = job, JobState.RUNNING, msgspec.json.encode(plan), plan.is_background
            await connection.execute(SQL["job_add"], *what)

    async def jobs(self, *, limit: int, job: JobId | None = None) -> Sequence[Job]:
        async with self._connections.working() as connection:
            return [_job(row) for row in await connection.fetch(SQL["jobs"], limit, job, JobState.RUNNING)]

    async def take_job(self, job: JobId | None, *, token: Token, lease: float) -> Job | None:
        async with self._connections.working() as connection:
            row = await connection.fetchrow(SQL["job_take"], job, token, lease, JobState.RUNNING)
        return None if row is None else _job(row)

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
        # Dead before the COMMIT: neither was anything replayed nor has the job come any further. After it: both.
        async with self._connections.transaction() as connection:
            held = await connection.fetchval(SQL["job_hold"], job, token, lease, JobState.RUNNING)
            if held is None:
                return None
            plan = _plan(held)
            await connection.execute(SQL["lock"], events)
            who = plan.replays_as(job)
            count = await moves.make_ready(connection, Signal.REPLAY, events, who=who, how=plan.next_run)
            place = cursor.received_at, cursor.event_id
            canaries = [*events] if is_canary else []
            await connection.execute(SQL["job_step"], job, count, looked_at, *place, canaries, not is_canary)
        return count

    async def hold_job(self, job: JobId, *, token: Token, lease: float) -> bool:
        async with self._connections.working() as connection:
            return await connection.fetchval(SQL["job_hold"], job, token, lease, JobState.RUNNING) is not None

    async def end_job(self, job: JobId, state: JobState, *, token: Token | None = None, message: str = "") -> bool:
        async with self._connections.working() as connection:
            told = job, state, before(state), token, rows.text(message)
            return await connection.fetchval(SQL["job_end"], *told) is not None

    async def reopen_job(self, job: JobId, *, is_background: bool) -> bool:
        async with self._connections.working() as connection:
            told = job, JobState.RUNNING, before(JobState.RUNNING), is_background
            return await connection.fetchval(SQL["job_reopen"], *told) is not None


def _job(row: asyncpg.Record) -> Job:
    place = row["cursor_at"]
    return Job(
        id=JobId(row["id"]),
        plan=replace(_plan(row["plan"]), is_background=row["is_background"]),
        state=JobState(row["state"]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        looked_at=row["looked_at"],
        replayed=row["replayed"],
        cursor=None if place is None else Cursor(place, EventId(row["cursor_id"])),
        canaries=tuple(EventId(event) for event in row["canaries"]),
        is_proven=row["is_proven"],
        message=row["message"],
        is_carried=row["is_carried"],
    )
