"""JobBoard: replays of many events that outlive whoever carries them out."""

from __future__ import annotations

import asyncio

import pytest

from landfast.domain.ids import HandlerName
from landfast.domain.job import FORGOTTEN_AFTER_SECONDS, MAY_BECOME, OVER, JobId, JobState, Plan
from landfast.domain.lifecycle import State
from landfast.domain.outcome import Claim, alone
from landfast.domain.summary import Cursor
from landfast.ports.inbox import Inbox
from landfast.testing.conformance.inbox.bench import Bench, claim, look, state_of
from landfast.testing.factory import LEASE, deliveries, event_in, token

ONE, TWO = JobId(b"job--1"), JobId(b"job--2")
PLAN = Plan("state:dead source:shop", "ada", "the fix is out", rate=50.0, canary=2, total=3)


class JobConformance:
    async def test_a_job_keeps_its_plan(self, bench: Bench) -> None:
        plan = Plan("state:done", "ada", "é", True, HandlerName("send_mail"), 0.5, 7, True, True, 12)
        await bench.inbox.add_job(ONE, plan)
        (job,) = await bench.inbox.jobs(limit=10)
        assert (job.id, job.plan, job.state, job.is_carried) == (ONE, plan, JobState.RUNNING, False)
        assert (job.looked_at, job.replayed, job.cursor, job.canaries, job.is_proven) == (0, 0, None, (), False)
        assert job.created_at == job.updated_at

    async def test_the_newest_job_comes_first(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        await bench.advance(1)
        await bench.inbox.add_job(TWO, PLAN)
        assert [job.id for job in await bench.inbox.jobs(limit=10)] == [TWO, ONE]
        assert [job.id for job in await bench.inbox.jobs(limit=1)] == [TWO]
        assert [job.id for job in await bench.inbox.jobs(limit=10, job=ONE)] == [ONE]
        assert not await bench.inbox.jobs(limit=10, job=JobId(b"nobody"))

    async def test_one_that_runs_is_listed_before_any_that_is_over(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        for number in range(25):
            await bench.advance(1)
            await bench.inbox.add_job(over := JobId(b"over%02d" % number), PLAN)
            assert await bench.inbox.end_job(over, JobState.FINISHED)
        found = await bench.inbox.jobs(limit=3)
        assert [job.id for job in found] == [ONE, b"over24", b"over23"]

    async def test_one_at_a_time_carries_a_job_out(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        another = await bench.another()
        takers = [inbox.take_job(ONE, token=token(n), lease=LEASE) for n, inbox in enumerate((bench.inbox, another))]
        assert sorted(job is None for job in await asyncio.gather(*takers)) == [False, True]
        assert [job.is_carried for job in await bench.inbox.jobs(limit=1)] == [True]
        await bench.advance(LEASE + 1)
        assert [job.is_carried for job in await bench.inbox.jobs(limit=1)] == [False]
        assert await bench.inbox.take_job(ONE, token=token(3), lease=LEASE) is not None

    async def test_workers_take_only_what_is_meant_for_them_oldest_first(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        assert await bench.inbox.take_job(None, token=token(1), lease=LEASE) is None
        for job in (TWO, JobId(b"job--3")):
            await bench.advance(1)
            await bench.inbox.add_job(job, Plan("state:dead", "ada", is_background=True))
        taken = await bench.inbox.take_job(None, token=token(1), lease=LEASE)
        assert taken is not None
        assert taken.id == TWO

    async def test_a_step_replays_and_notes_how_far_it_came(self, bench: Bench) -> None:
        dead = await _dead(bench.inbox, 3)
        await bench.inbox.add_job(ONE, Plan("state:dead", "ada", forced=True, only=HandlerName("send_mail")))
        await bench.inbox.take_job(ONE, token=token(50), lease=LEASE)
        assert await _step(bench.inbox, dead[:2], is_canary=True) == 2
        (job,) = await bench.inbox.jobs(limit=1)
        assert (job.replayed, job.looked_at, job.is_proven) == (2, 2, False)
        assert job.canaries == tuple(one.event_id for one in dead[:2])
        assert job.cursor == Cursor(dead[1].received_at, dead[1].event_id)
        assert await _step(bench.inbox, dead[2:]) == 1
        (job,) = await bench.inbox.jobs(limit=1)
        assert (job.replayed, job.looked_at, job.is_proven, job.canaries) == (3, 3, True, ())
        claimed = await claim(bench.inbox, 9, limit=10)
        assert {(one.run, one.forced, alone(one.tries)) for one in claimed} == {(2, True, "send_mail")}
        line = (await look(bench.inbox, dead[0].event_id)).history[-1]
        assert (line.who, line.reason) == (f"ada, job {ONE.hex()}", "forced, only send_mail")

    async def test_a_step_of_somebody_who_lost_the_job_changes_nothing(self, bench: Bench) -> None:
        dead = await _dead(bench.inbox, 1)
        await bench.inbox.add_job(ONE, PLAN)
        await bench.inbox.take_job(ONE, token=token(50), lease=LEASE)
        await bench.advance(LEASE + 1)
        await bench.inbox.take_job(ONE, token=token(51), lease=LEASE)
        assert await _step(bench.inbox, dead) is None
        assert not await bench.inbox.hold_job(ONE, token=token(50), lease=LEASE)
        assert not await bench.inbox.end_job(ONE, JobState.FINISHED, token=token(50))
        assert await state_of(bench.inbox, dead[0].event_id) is State.DEAD
        (job,) = await bench.inbox.jobs(limit=1)
        assert (job.looked_at, job.cursor) == (0, None)

    async def test_a_step_of_a_cancelled_job_changes_nothing(self, bench: Bench) -> None:
        dead = await _dead(bench.inbox, 1)
        await bench.inbox.add_job(ONE, PLAN)
        await bench.inbox.take_job(ONE, token=token(50), lease=LEASE)
        assert await bench.inbox.end_job(ONE, JobState.CANCELLED)
        assert await _step(bench.inbox, dead) is None
        assert await state_of(bench.inbox, dead[0].event_id) is State.DEAD

    async def test_a_lease_that_is_held_does_not_end(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        await bench.inbox.take_job(ONE, token=token(50), lease=LEASE)
        for _ in range(3):
            await bench.advance(LEASE - 5)
            assert await bench.inbox.hold_job(ONE, token=token(50), lease=LEASE)
        assert await bench.inbox.take_job(ONE, token=token(51), lease=LEASE) is None

    @pytest.mark.parametrize("end", JobState)
    @pytest.mark.parametrize("begin", JobState)
    async def test_a_job_goes_where_the_table_lets_it(self, bench: Bench, begin: JobState, end: JobState) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        if begin is not JobState.RUNNING:
            assert await bench.inbox.end_job(ONE, begin, message="so it is")
        is_legal = end in MAY_BECOME[begin]
        if end is JobState.RUNNING:
            # One that runs and that nobody carries out may be taken over.
            is_legal = is_legal or begin is JobState.RUNNING
            assert await bench.inbox.reopen_job(ONE, is_background=True) is is_legal
        else:
            assert await bench.inbox.end_job(ONE, end, message="why") is is_legal
        (job,) = await bench.inbox.jobs(limit=1)
        assert job.state is (end if is_legal else begin)

    async def test_a_job_that_is_opened_again_goes_on_where_it_was_without_its_canaries(self, bench: Bench) -> None:
        dead = await _dead(bench.inbox, 2)
        await bench.inbox.add_job(ONE, PLAN)
        await bench.inbox.take_job(ONE, token=token(50), lease=LEASE)
        await _step(bench.inbox, dead[:1], is_canary=True)
        assert not await bench.inbox.reopen_job(ONE, is_background=True)
        await bench.inbox.end_job(ONE, JobState.FAILED, token=token(50), message="a canary died")
        (job,) = await bench.inbox.jobs(limit=1)
        assert (job.state, job.message, job.is_carried) == (JobState.FAILED, "a canary died", False)
        assert await bench.inbox.reopen_job(ONE, is_background=True)
        job_again = await bench.inbox.take_job(None, token=token(51), lease=LEASE)
        assert job_again is not None
        assert (job_again.looked_at, job_again.cursor) == (1, Cursor(dead[0].received_at, dead[0].event_id))
        assert (job_again.canaries, job_again.is_proven, job_again.message) == ((), False, "")

    async def test_jobs_that_were_over_for_long_are_forgotten(self, bench: Bench) -> None:
        await bench.inbox.add_job(ONE, PLAN)
        (state, *_) = OVER
        await bench.inbox.end_job(ONE, state)
        await bench.inbox.add_job(TWO, PLAN)
        await bench.advance(FORGOTTEN_AFTER_SECONDS + 1)
        await bench.inbox.add_job(JobId(b"job--3"), PLAN)
        assert {job.id for job in await bench.inbox.jobs(limit=10)} == {TWO, b"job--3"}


async def _dead(inbox: Inbox, count: int) -> list[Claim]:
    return [await event_in(inbox, State.DEAD, what, number=n) for n, what in enumerate(deliveries(count))]


async def _step(inbox: Inbox, events: list[Claim], *, is_canary: bool = False) -> int | None:
    return await inbox.step_job(
        ONE,
        [one.event_id for one in events],
        token=token(50),
        lease=LEASE,
        cursor=Cursor(events[-1].received_at, events[-1].event_id),
        looked_at=len(events),
        is_canary=is_canary,
    )
