"""Replays as jobs: each event once, whatever happens to who carries them out."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from landfast.domain.errors import InboxUnavailableError, UserError
from landfast.domain.filter import Filter, parse
from landfast.domain.ids import EventId
from landfast.domain.job import Job, JobId, JobState, Plan
from landfast.domain.lifecycle import Signal, State
from landfast.domain.outcome import Claim, Tries
from landfast.domain.summary import EventSummary
from landfast.inboxes.sqlite import SqliteInbox
from landfast.operations.replay_jobs import LEASE_SECONDS, STEP_EVENTS, begin, cancel, carry_out, find_job, reopen
from landfast.ports.inbox import Inbox
from landfast.testing.clock import ManualClock, SeededChance
from landfast.testing.factory import DAWN, failure, settlement, token
from tests.recovery.scenes import HANDLER, settle_all, store

DEAD = Filter(state=State.DEAD)
DONE = Filter(state=State.DONE)
PLAN = Plan("", "selma", "the fix is out")
CHANCE = SeededChance(5)


class KilledHereError(BaseException):
    """As a kill -9: nobody hears of it."""


class StandingClock(ManualClock):
    """Whoever renews a lease sleeps until the time has come, and does not bring it about."""

    def __init__(self) -> None:
        super().__init__()
        self._asleep: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds < LEASE_SECONDS / 3:
            self.advance(seconds)
            await asyncio.sleep(0)
            return
        woken = asyncio.get_running_loop().create_future()
        self._asleep.append((self.monotonic() + seconds, woken))
        await woken

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        for until, woken in self._asleep:
            if until <= self.monotonic() and not woken.done():
                woken.set_result(None)


@pytest.fixture
def clock() -> StandingClock:
    return StandingClock()


async def _begin(inbox: Inbox, chosen: Filter = DEAD, plan: Plan = PLAN) -> Job:
    return await begin(inbox, chosen, plan, chance=CHANCE, now=DAWN.replace(year=2030))


async def _carry_out(inbox: Inbox, job: Job, clock: ManualClock, **how: Any) -> Job:
    ended = await carry_out(inbox, job.id, clock=clock, chance=CHANCE, **how)
    assert ended is not None
    return ended


@pytest.mark.req("R26")
async def test_2400_dead_letters_are_replayed_under_their_own_keys(inbox: SqliteInbox, clock: ManualClock) -> None:
    events = await store(inbox, 2400)
    await settle_all(inbox, Signal.BURY)
    seen: list[int] = []
    job = await _begin(inbox)
    ended = await _carry_out(inbox, job, clock, report=lambda job: seen.append(job.replayed))
    assert (ended.state, ended.replayed, ended.looked_at) == (JobState.FINISHED, 2400, 2400)
    assert seen == list(range(0, 2401, STEP_EVENTS))
    claims = await settle_all(inbox, Signal.FINISH)
    assert {(claim.key, claim.run, claim.forced) for claim in claims} == {(event.key, 2, False) for event in events}


async def test_only_what_matches_is_replayed(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 3, source="shop")
    await store(inbox, 2, source="crm")
    await settle_all(inbox, Signal.BURY)
    ended = await _carry_out(inbox, await _begin(inbox, replace(DEAD, source="crm")), clock)
    assert ended.replayed == 2
    assert parse(ended.plan.terms, now=DAWN) == replace(DEAD, source="crm")
    assert await inbox.count(DEAD, at_most=10) == 3


@pytest.mark.req("R26")
@pytest.mark.parametrize("moment", ["before the step", "after the step", "at the end"])
async def test_a_job_that_is_killed_goes_on_and_replays_nothing_twice(
    tmp_path: Path, clock: ManualClock, moment: str
) -> None:
    class Killed(SqliteInbox):
        is_armed = True

        async def step_job(self, job: JobId, events: Sequence[EventId], **how: Any) -> int | None:
            if moment == "before the step" and self.is_armed and len(events) < STEP_EVENTS:
                raise KilledHereError
            replayed = await super().step_job(job, events, **how)
            if moment == "after the step" and self.is_armed:
                raise KilledHereError
            return replayed

        async def end_job(self, job: JobId, state: JobState, **how: Any) -> bool:
            if self.is_armed:
                raise KilledHereError
            return await super().end_job(job, state, **how)

    inbox = Killed(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    count = STEP_EVENTS + 50
    await store(inbox, count)
    await settle_all(inbox, Signal.FINISH)
    job = await _begin(inbox, DONE, replace(PLAN, forced=True))
    with pytest.raises(KilledHereError):
        await _carry_out(inbox, job, clock)
    await settle_all(inbox, Signal.FINISH)  # done once more, so the filter matches them again
    inbox.is_armed = False
    with pytest.raises(UserError, match="is being carried out; there is nothing to go on with"):
        await reopen(inbox, job, is_background=False)  # nobody knows yet that it was killed
    clock.advance(LEASE_SECONDS + 1)
    ended = await _carry_out(inbox, await reopen(inbox, job, is_background=False), clock)
    assert (ended.state, ended.replayed, ended.looked_at) == (JobState.FINISHED, count, count)
    await settle_all(inbox, Signal.FINISH)
    assert {event.run for event in await inbox.find(DONE, limit=500)} == {2}
    await inbox.close()


async def test_an_interrupted_job_says_so_and_goes_on(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, STEP_EVENTS + 50)
    await settle_all(inbox, Signal.BURY)
    job = await _begin(inbox)

    def interrupt(job: Job) -> None:
        if job.replayed:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await _carry_out(inbox, job, clock, report=interrupt)
    assert (await find_job(inbox, job.name[:5])).state is JobState.STOPPED
    assert await carry_out(inbox, job.id, clock=clock, chance=CHANCE) is None
    ended = await _carry_out(inbox, await reopen(inbox, job, is_background=False), clock)
    assert (ended.state, ended.replayed) == (JobState.FINISHED, STEP_EVENTS + 50)


async def test_a_worker_that_stops_leaves_its_job_to_the_next_one(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, STEP_EVENTS + 50)
    await settle_all(inbox, Signal.BURY)
    await _begin(inbox, plan=replace(PLAN, is_background=True))

    def stop(job: Job) -> None:
        if job.replayed:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await carry_out(inbox, None, clock=clock, chance=CHANCE, report=stop)
    ended = await carry_out(inbox, None, clock=clock, chance=CHANCE)
    assert ended is not None
    assert (ended.state, ended.replayed) == (JobState.FINISHED, STEP_EVENTS + 50)
    assert await carry_out(inbox, None, clock=clock, chance=CHANCE) is None


@pytest.mark.req("R26")
@pytest.mark.parametrize("outages", [0, 1])
async def test_a_job_is_not_taken_from_a_worker_that_looks_for_longer_than_a_lease(
    tmp_path: Path, clock: ManualClock, outages: int
) -> None:
    class Slow(SqliteInbox):
        finds = 0
        outages_left = outages

        async def find(self, *args: Any, **how: Any) -> Sequence[EventSummary]:
            self.finds += 1
            assert self.finds < 10, "it does not come any further"
            for seconds in (0, *4 * (LEASE_SECONDS / 3,)):
                clock.advance(seconds)
                for _ in range(5):  # the other worker looks for a job meanwhile
                    await self.jobs(limit=1)
            return await super().find(*args, **how)

        async def hold_job(self, job: JobId, **how: Any) -> bool:
            if self.outages_left:
                self.outages_left -= 1
                raise InboxUnavailableError("a moment of absence")
            return await super().hold_job(job, **how)

    async def work() -> list[Job]:
        ended = []
        while any(job.is_running for job in await inbox.jobs(limit=1)):
            if job := await carry_out(inbox, None, clock=clock, chance=CHANCE):
                ended.append(job)
        return ended

    inbox = Slow(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    await store(inbox, STEP_EVENTS + 50)
    await settle_all(inbox, Signal.BURY)
    await _begin(inbox, plan=replace(PLAN, is_background=True))
    (ended,) = itertools.chain(*await asyncio.gather(work(), work()))
    assert (ended.state, ended.replayed, ended.looked_at) == (JobState.FINISHED, STEP_EVENTS + 50, STEP_EVENTS + 50)
    assert inbox.finds == 3
    claims = await settle_all(inbox, Signal.FINISH)
    assert [claim.run for claim in claims] == [2] * (STEP_EVENTS + 50)
    await inbox.close()


async def test_a_lease_is_renewed_no_longer_once_the_job_is_let_go_of(inbox: SqliteInbox, clock: StandingClock) -> None:
    await store(inbox, 1)
    await settle_all(inbox, Signal.BURY)
    await _begin(inbox, plan=replace(PLAN, is_background=True))

    def stop(job: Job) -> None:
        if job.replayed:
            clock.advance(LEASE_SECONDS / 3)  # a renewal is on its way
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        await carry_out(inbox, None, clock=clock, chance=CHANCE, report=stop)
    for _ in range(5):
        (left,) = await inbox.jobs(limit=1)
        assert left.waits_for_a_worker


async def test_a_cancelled_job_stops_between_two_steps(tmp_path: Path, clock: ManualClock) -> None:
    class Cancelled(SqliteInbox):
        async def step_job(self, job: JobId, events: Sequence[EventId], **how: Any) -> int | None:
            replayed = await super().step_job(job, events, **how)
            await cancel(self, await find_job(self, job.hex()), who="ana", why="the wrong ones")
            return replayed

    inbox = Cancelled(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    await store(inbox, 2 * STEP_EVENTS)
    await settle_all(inbox, Signal.BURY)
    job = await _begin(inbox)
    ended = await _carry_out(inbox, job, clock)
    assert (ended.state, ended.replayed) == (JobState.CANCELLED, STEP_EVENTS)
    with pytest.raises(UserError, match="is cancelled; there is nothing to go on with"):
        await reopen(inbox, job, is_background=False)
    await inbox.close()


async def test_an_event_that_dies_again_on_the_way_is_not_replayed_twice(tmp_path: Path, clock: ManualClock) -> None:
    class StillBroken(SqliteInbox):
        async def step_job(self, job: JobId, events: Sequence[EventId], **how: Any) -> int | None:
            replayed = await super().step_job(job, events, **how)
            await settle_all(self, Signal.BURY)
            return replayed

    inbox = StillBroken(str(tmp_path / "inbox.db"), clock=clock, chance=SeededChance())
    await inbox.open()
    await inbox.migrate()
    await store(inbox, STEP_EVENTS + 1)
    await settle_all(inbox, Signal.BURY)
    for oldest_first in (False, True):
        job = await _begin(inbox, plan=replace(PLAN, oldest_first=oldest_first))
        assert (await _carry_out(inbox, job, clock)).replayed == STEP_EVENTS + 1
    assert {event.run for event in await inbox.find(DEAD, limit=500)} == {3}
    await inbox.close()


async def test_the_rate_is_kept(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 30)
    await settle_all(inbox, Signal.BURY)
    began = clock.monotonic()
    seen: list[int] = []
    job = await _begin(inbox, plan=replace(PLAN, rate=10))
    await _carry_out(inbox, job, clock, report=lambda job: seen.append(job.replayed))
    assert seen == [0, 10, 20, 30]
    assert clock.monotonic() - began == pytest.approx(3.0)


async def test_the_oldest_come_first_where_that_is_asked_for(inbox: SqliteInbox, clock: ManualClock) -> None:
    events = await store(inbox, 5)
    await settle_all(inbox, Signal.BURY)
    await _carry_out(inbox, await _begin(inbox, plan=replace(PLAN, oldest_first=True, rate=1)), clock)
    assert [claim.key for claim in await settle_all(inbox, Signal.FINISH)] == [event.key for event in events]


async def test_canaries_are_not_waited_for_for_ever(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 10)
    await settle_all(inbox, Signal.BURY)
    ended = await _carry_out(inbox, await _begin(inbox, plan=replace(PLAN, canary=2)), clock)
    assert (ended.state, ended.replayed) == (JobState.FAILED, 2)
    assert "none was done for 120 s; does a worker run?" in ended.message


@pytest.mark.parametrize("end", [Signal.BURY, Signal.RETRY, Signal.NO_HANDLER, Signal.PAUSE])
async def test_a_canary_that_fails_stops_the_job(inbox: SqliteInbox, clock: ManualClock, end: Signal) -> None:
    await store(inbox, 10)
    await settle_all(inbox, Signal.BURY)
    job = await _begin(inbox, plan=replace(PLAN, canary=2))
    carrying = asyncio.create_task(_carry_out(inbox, job, clock))
    await _settle(inbox, [Signal.FINISH, end])
    ended = await carrying
    assert (ended.state, ended.replayed) == (JobState.FAILED, 2)
    assert ended.message.startswith("a canary failed: shop/evt_")
    assert await inbox.count(DEAD, at_most=20) == 8 + (end is Signal.BURY)


async def test_once_the_canaries_are_done_the_rest_follows(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 10)
    await settle_all(inbox, Signal.BURY)
    job = await _begin(inbox, plan=replace(PLAN, canary=2))
    carrying = asyncio.create_task(_carry_out(inbox, job, clock))
    await _settle(inbox, [Signal.FINISH, Signal.FINISH])
    ended = await carrying
    assert (ended.state, ended.replayed, ended.looked_at) == (JobState.FINISHED, 10, 10)


async def test_after_a_failed_canary_the_job_goes_on_with_another(inbox: SqliteInbox, clock: ManualClock) -> None:
    await store(inbox, 5)
    await settle_all(inbox, Signal.BURY)
    job = await _begin(inbox, plan=replace(PLAN, canary=1))
    carrying = asyncio.create_task(_carry_out(inbox, job, clock))
    await _settle(inbox, [Signal.BURY])
    assert (await carrying).state is JobState.FAILED
    carrying = asyncio.create_task(_carry_out(inbox, await reopen(inbox, job, is_background=False), clock))
    await _settle(inbox, [Signal.FINISH])
    ended = await carrying
    assert (ended.state, ended.replayed) == (JobState.FINISHED, 5)
    assert {event.run for event in await inbox.find(Filter(), limit=10)} == {2}


async def test_a_job_is_named_by_its_first_digits(inbox: SqliteInbox) -> None:
    job = await _begin(inbox)
    assert (await find_job(inbox, job.name[:3])).id == job.id
    await inbox.add_job(JobId(job.id[:1] + b"-----"), PLAN)
    with pytest.raises(UserError, match="several jobs begin with"):
        await find_job(inbox, job.name[:2])
    with pytest.raises(UserError, match="there is no job 'zz'"):
        await find_job(inbox, "zz")


async def _settle(inbox: Inbox, signals: Sequence[Signal]) -> None:
    """As a worker does, once so many are ready."""
    claims: list[Claim] = []
    while len(claims) < len(signals):
        claims += await inbox.claim(token=token(900 + len(claims)), lease=30, limit=len(signals) - len(claims))
        await asyncio.sleep(0)
    for claim, signal in zip(claims, signals, strict=True):
        more = {} if signal in {Signal.FINISH, Signal.NO_HANDLER, Signal.PAUSE} else failure(signal)
        tries = {HANDLER: Tries(1)} if signal is Signal.RETRY else {}
        await inbox.settle([settlement(claim, signal, due_in=3600.0, tries=tries, **more)])
