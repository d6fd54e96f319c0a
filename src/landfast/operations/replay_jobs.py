"""Replays of many events as jobs: begun, carried out, cancelled, gone on with.

Whoever carries a job out looks for the next events behind its cursor, and has the inbox replay them and move the cursor
in one COMMIT. Killed at any point, it goes on from there. An event that fails again meanwhile lies behind the cursor: a
job replays each event once at most.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime

from landfast.domain.errors import StoreError, UserError
from landfast.domain.filter import Filter, parse, text_of
from landfast.domain.ids import Token
from landfast.domain.job import CANARIES_AT_MOST, JOB_ID_BYTES, Job, JobId, JobState, Plan
from landfast.domain.lifecycle import State
from landfast.domain.operator_log import Action
from landfast.domain.summary import Cursor, EventRecord
from landfast.operations.operator_log import Audit, audited
from landfast.ports.clock import Chance, Clock
from landfast.ports.inbox import Inbox

STEP_EVENTS = 200
"""Events per transaction: a few milliseconds, so that intake and workers never wait for a replay, and so little that
stopping between two is prompt."""

LEASE_SECONDS = 30.0
"""Without a word for so long, whoever carried a job out is dead, and another may go on with it."""

CANARY_LOOK_SECONDS = 0.2

CANARY_PATIENCE_SECONDS = 120.0
"""For the next of the canaries to come to an end: longer than a handler may usually take. Without a worker none ever
does."""

KNOWN_JOBS = 200
"""The newest, among which one is found by the beginning of its name."""

TOKEN_BYTES = 16

Report = Callable[[Job], None]


async def replay_all(
    inbox: Inbox,
    chosen: Filter,
    plan: Plan,
    *,
    clock: Clock,
    chance: Chance,
    now: datetime,
    report: Report = lambda _: None,
) -> Job:
    """Begin a job, and carry it out unless a worker is to; the job as it is then."""
    action = Action.FORCE if plan.forced else Action.REPLAY
    async with audited(inbox, action, who=plan.who, why=plan.why, what=_asked(chosen, plan)) as audit:
        job = await begin(inbox, chosen, plan, chance=chance, now=now)
        audit.note(job=job.name)
        return job if plan.is_background else await _carried_out(inbox, job, audit, clock, chance, report)


async def resume(
    inbox: Inbox,
    job: Job,
    *,
    who: str,
    why: str,
    is_background: bool,
    clock: Clock,
    chance: Chance,
    report: Report = lambda _: None,
) -> Job:
    """Go on with a job from where it is."""
    action = Action.FORCE if job.plan.forced else Action.REPLAY
    async with audited(inbox, action, who=who, why=why, what={"resume": job.name, "filter": job.plan.terms}) as audit:
        reopened = await reopen(inbox, job, is_background=is_background)
        return reopened if is_background else await _carried_out(inbox, reopened, audit, clock, chance, report)


async def cancel(inbox: Inbox, job: Job, *, who: str, why: str) -> bool:
    """For good; whether it was not over yet. What it had replayed runs."""
    async with audited(inbox, Action.CANCEL, who=who, why=why, what={"job": job.name}) as audit:
        was_running = await inbox.end_job(job.id, JobState.CANCELLED)
        audit.counted(int(was_running))
        return was_running


def _asked(chosen: Filter, plan: Plan) -> dict[str, object]:
    options = {"handler": plan.only, "rate": plan.rate, "canary": plan.canary, "background": plan.is_background}
    return {"filter": text_of(chosen), **{name: value for name, value in options.items() if value}}


async def _carried_out(inbox: Inbox, job: Job, audit: Audit, clock: Clock, chance: Chance, report: Report) -> Job:
    known = job.replayed

    def counted(now: Job) -> None:
        nonlocal known
        audit.counted(now.replayed - known)
        known = now.replayed
        report(now)

    ended = await carry_out(inbox, job.id, clock=clock, chance=chance, report=counted)
    return ended or await find_job(inbox, job.name)


async def begin(inbox: Inbox, chosen: Filter, plan: Plan, *, chance: Chance, now: datetime) -> Job:
    """A job of this filter, which nobody carries out yet. What comes in later is not a part of it: oldest first, a job
    would otherwise never end."""
    if plan.canary > CANARIES_AT_MOST:
        raise UserError(
            f"replay: {plan.canary} canaries are too many; a canary is of {CANARIES_AT_MOST} events at most"
        )
    if plan.oldest_first:
        chosen = replace(chosen, before=now if chosen.before is None else min(chosen.before, now))
    job = JobId(chance.bytes(JOB_ID_BYTES))
    await inbox.add_job(job, replace(plan, terms=text_of(chosen)))
    (added,) = await inbox.jobs(limit=1, job=job)
    return added


async def find_job(inbox: Inbox, name: str) -> Job:
    """By its name, or as many of the first digits as tell it from every other."""
    found = [job for job in await inbox.jobs(limit=KNOWN_JOBS) if name and job.name.startswith(name)]
    if len(found) > 1:
        raise UserError(f"replay: several jobs begin with {name!r}; give more of its digits")
    if not found:
        raise UserError(f"replay: there is no job {name!r}; see landfast replay list")
    return found[0]


async def reopen(inbox: Inbox, job: Job, *, is_background: bool) -> Job:
    """Let it go on from where it is: a worker carries it out, or whoever calls `carry_out` next."""
    if not await inbox.reopen_job(job.id, is_background=is_background):
        (now,) = await inbox.jobs(limit=1, job=job.id)
        state = "being carried out" if now.state is JobState.RUNNING else now.state
        raise UserError(f"replay: job {job.name} is {state}; there is nothing to go on with")
    (reopened,) = await inbox.jobs(limit=1, job=job.id)
    return reopened


async def carry_out(
    inbox: Inbox, job: JobId | None, *, clock: Clock, chance: Chance, report: Report = lambda _: None
) -> Job | None:
    """Carry out this job, or one that waits for a worker, until it is over or taken away; the job as it is then. None
    where there is none to take. If it is cancelled or meets an error, the job can be gone on with."""
    token = Token(chance.bytes(TOKEN_BYTES))
    taken = await inbox.take_job(job, token=token, lease=LEASE_SECONDS)
    if taken is None:
        return None
    carrier = _Carrier(inbox, taken, token, clock, report)
    try:
        async with _held(inbox, taken.id, token, clock):
            await carrier.run()
    except BaseException as error:
        with suppress(StoreError):
            await carrier.let_go(error)
        raise
    (ended,) = await inbox.jobs(limit=1, job=taken.id)
    return ended


@asynccontextmanager
async def _held(inbox: Inbox, job: JobId, token: Token, clock: Clock) -> AsyncIterator[None]:
    """The lease does not run out within the block. To find the next events in a large inbox takes longer than a lease,
    and so does the pause of a low rate: workers would take the job from each other, and none would come any further."""
    holding = asyncio.create_task(_hold(inbox, job, token, clock), name="landfast replay lease")
    try:
        yield
    finally:
        # It is over before the job is let go of, so that it never renews what is left to others.
        holding.cancel()
        await asyncio.wait([holding])


async def _hold(inbox: Inbox, job: JobId, token: Token, clock: Clock) -> None:
    """Until the job is no longer ours; whoever carries it out hears that at the next step."""
    is_ours = True
    while is_ours:
        await clock.sleep(LEASE_SECONDS / 3)  # so that two of them may fail
        with suppress(StoreError):
            is_ours = await inbox.hold_job(job, token=token, lease=LEASE_SECONDS)


@dataclass(slots=True)
class _Carrier:
    inbox: Inbox
    job: Job
    token: Token
    clock: Clock
    report: Report
    _began: float = field(init=False)
    _wanted: Filter = field(init=False)
    _replayed: int = 0
    """Since it was taken: the rate is of those."""

    def __post_init__(self) -> None:
        self._began = self.clock.monotonic()
        self._wanted = parse(self.job.plan.terms, now=self.clock.now())

    async def run(self) -> None:
        self.report(self.job)
        while await self._canaries_went_well() and await self._step():
            self.report(self.job)
            await self._pace()

    async def let_go(self, error: BaseException) -> None:
        """A worker that stops, or whose inbox is away, leaves the job to the next one. A command that is interrupted
        leaves it to its operator."""
        job, token = self.job.id, self.token
        if self.job.plan.is_background and isinstance(error, asyncio.CancelledError | StoreError):
            await self.inbox.hold_job(job, token=token, lease=0.0)
        elif isinstance(error, Exception):
            message = str(error) or type(error).__name__
            await self.inbox.end_job(job, JobState.FAILED, token=token, message=message)
        else:
            await self.inbox.end_job(job, JobState.STOPPED, token=token)

    async def _step(self) -> bool:
        """Whether it goes on."""
        plan, is_canary = self.job.plan, self.job.needs_canary and not self.job.canaries
        # Crash before the step: nothing was replayed. After it: the job knows.
        found = await self.inbox.find(
            self._wanted,
            limit=plan.canary if is_canary else self._size(),
            after=self.job.cursor,
            oldest_first=plan.oldest_first,
        )
        if not found:
            await self.inbox.end_job(self.job.id, JobState.FINISHED, token=self.token)
            return False
        cursor = Cursor(found[-1].received_at, found[-1].event_id)
        replayed = await self.inbox.step_job(
            self.job.id,
            [event.event_id for event in found],
            token=self.token,
            lease=LEASE_SECONDS,
            cursor=cursor,
            looked_at=len(found),
            is_canary=is_canary,
        )
        if replayed is None:
            return False
        self._replayed += replayed
        self.job = replace(
            self.job,
            cursor=cursor,
            looked_at=self.job.looked_at + len(found),
            replayed=self.job.replayed + replayed,
            canaries=tuple(event.event_id for event in found) if is_canary else (),
            is_proven=not is_canary,
        )
        return True

    def _size(self) -> int:
        rate = self.job.plan.rate
        return STEP_EVENTS if rate is None else max(1, min(STEP_EVENTS, int(rate)))

    async def _pace(self) -> None:
        rate = self.job.plan.rate
        if rate is not None:
            await self.clock.sleep(max(0.0, self._replayed / rate - (self.clock.monotonic() - self._began)))

    async def _canaries_went_well(self) -> bool:
        """Wait until each of them has come to an end, if there are any."""
        done, since = 0, self.clock.monotonic()
        while self.job.needs_canary and self.job.canaries:
            records = [record for event in self.job.canaries if (record := await self.inbox.show(event)) is not None]
            now_done = sum(record.summary.state is State.DONE for record in records)
            if now_done == len(records):
                return True
            if now_done > done:
                done, since = now_done, self.clock.monotonic()
            failed = next(filter(None, map(_failed, records)), "")
            if not failed and self.clock.monotonic() - since > CANARY_PATIENCE_SECONDS:
                failed = f"none was done for {CANARY_PATIENCE_SECONDS:.0f} s; does a worker run?"
            if failed:
                message = f"a canary failed: {failed}; nothing else was replayed"
                await self.inbox.end_job(self.job.id, JobState.FAILED, token=self.token, message=message)
                return False
            if not await self.inbox.hold_job(self.job.id, token=self.token, lease=LEASE_SECONDS):
                return False
            await self.clock.sleep(CANARY_LOOK_SECONDS)
        return True


def _failed(record: EventRecord) -> str:
    """What a canary came to, if that is bad: one that is tried again has failed once, and one is enough. What is paused
    comes to nothing until somebody resumes it."""
    event = record.summary
    has_failed = any(tries.count for tries in record.tries.values())
    is_over = event.state in {State.DEAD, State.UNHANDLED, State.PAUSED}
    if is_over or (event.state is State.DELAYED and has_failed):
        return f"{event.source}/{event.key} is {event.state}, {event.error or event.reason}"
    return ""
