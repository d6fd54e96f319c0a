"""Replays of many events as jobs: added, carried out step by step, ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec

from landfast.domain.ids import EventId, Token
from landfast.domain.job import FORGOTTEN_AFTER_SECONDS, OVER, Job, JobId, JobState, Plan, before
from landfast.domain.lifecycle import Signal
from landfast.domain.summary import Cursor
from landfast.inboxes.sqlite import moves, rows
from landfast.inboxes.sqlite.connection import SqliteFile, in_thread
from landfast.inboxes.sqlite.statements import ask
from landfast.ports.clock import Clock

ID_BYTES = 16
"""Of an event."""

_plan = msgspec.json.Decoder(Plan).decode


class Jobs:
    _file: SqliteFile
    _clock: Clock

    @in_thread
    def add_job(self, job: JobId, plan: Plan) -> None:
        """Crash before the COMMIT: there is no job, and nothing was replayed."""
        now = rows.micros(self._clock.now())
        told = {"id": job, "state": JobState.RUNNING, "now": now, "is_background": plan.is_background}
        with self._file.writing(durable=True) as connection:
            for state in OVER:
                since = now - rows.micros_in(FORGOTTEN_AFTER_SECONDS)
                ask(connection, "job_forget", {"state": state, "before": since})
            ask(connection, "job_add", told | {"plan": msgspec.json.encode(plan).decode()})

    @in_thread
    def jobs(self, *, limit: int, job: JobId | None = None) -> Sequence[Job]:
        asked = {"id": job, "limit": limit, "now": rows.micros(self._clock.now()), "first": JobState.RUNNING}
        with self._file.reading() as connection:
            return [_job(row) for row in ask(connection, "jobs", asked)]

    @in_thread
    def take_job(self, job: JobId | None, *, token: Token, lease: float) -> Job | None:
        with self._file.writing(durable=True) as connection:
            found = ask(connection, "job_take", self._asked(job, token, lease))
            return _job(found[0]) if found else None

    @in_thread
    def step_job(
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
        """Crash before the COMMIT: neither was anything replayed nor has the job come any further. After it: both."""
        asked = self._asked(job, token, lease)
        at = asked["now"]
        with self._file.writing(durable=True) as connection:
            for (held,) in ask(connection, "job_hold", asked):
                plan = _plan(held)
                how, who = plan.next_run, plan.replays_as(job)
                back = [moves.make_ready(connection, Signal.REPLAY, one, at=at, who=who, how=how) for one in events]
                place = {"cursor_at": rows.micros(cursor.received_at), "cursor_id": cursor.event_id}
                canary = {"canaries": b"".join(events) if is_canary else b"", "is_proven": not is_canary}
                came = {"id": job, "now": at, "replayed": sum(back), "looked_at": looked_at}
                ask(connection, "job_step", came | place | canary)
                return sum(back)
        return None

    @in_thread
    def hold_job(self, job: JobId, *, token: Token, lease: float) -> bool:
        with self._file.writing(durable=False) as connection:
            return bool(ask(connection, "job_hold", self._asked(job, token, lease)))

    @in_thread
    def end_job(self, job: JobId, state: JobState, *, token: Token | None = None, message: str = "") -> bool:
        asked: dict[str, Any] = {"id": job, "state": state, "begins": json.dumps(before(state)), "token": token}
        asked |= {"message": rows.text(message), "now": rows.micros(self._clock.now())}
        with self._file.writing(durable=True) as connection:
            return bool(ask(connection, "job_end", asked))

    @in_thread
    def reopen_job(self, job: JobId, *, is_background: bool) -> bool:
        running = JobState.RUNNING
        asked = {"id": job, "state": running, "begins": json.dumps(before(running)), "is_background": is_background}
        with self._file.writing(durable=True) as connection:
            return bool(ask(connection, "job_reopen", asked | {"now": rows.micros(self._clock.now())}))

    def _asked(self, job: JobId | None, token: Token, lease: float) -> dict[str, Any]:
        now = rows.micros(self._clock.now())
        until = now + rows.micros_in(lease)
        return {"id": job, "token": token, "state": JobState.RUNNING, "now": now, "until": until}


def _job(row: Sequence[Any]) -> Job:
    """A row of `jobs.sql`."""
    job, state, plan, is_background, created_at, updated_at, looked_at, replayed, cursor_at, cursor_id, *rest = row
    canaries, is_proven, message, is_carried = rest
    return Job(
        id=job,
        plan=replace(_plan(plan), is_background=bool(is_background)),
        state=JobState(state),
        created_at=rows.moment(created_at),
        updated_at=rows.moment(updated_at),
        looked_at=looked_at,
        replayed=replayed,
        cursor=None if cursor_at is None else Cursor(rows.moment(cursor_at), cursor_id),
        canaries=tuple(EventId(canaries[at : at + ID_BYTES]) for at in range(0, len(canaries), ID_BYTES)),
        is_proven=bool(is_proven),
        message=message,
        is_carried=bool(is_carried),
    )
