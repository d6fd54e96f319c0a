"""Callers who wait: they get the answer of the run that theirs started, or joined, and nobody waits for ever."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from landfast.intake.endpoints import desk as desks
from landfast.wakeups.datagram import DatagramWakeup
from tests.endpoints.bench import OTHER, Bench, failure, open_bench, problem
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.req("R14")


async def test_of_many_twins_one_runs_and_the_others_get_its_answer(tmp_path: Path, migrated_database: str) -> None:
    async with open_bench(tmp_path, store=migrated_database, wait=60.0) as bench, bench.working():
        bench.door.clear()
        twins = [asyncio.create_task(bench.call()) for _ in range(20)]
        await _inside(bench)
        assert problem(await bench.call(body=OTHER)) == "other-body"  # it does not wait
        twins += [asyncio.create_task(bench.call()) for _ in range(5)]
        assert not any(twin.done() for twin in twins)
        bench.door.set()
        told = await asyncio.gather(*twins)
        assert {(each.status, each.body) for each in told} == {(201, b'{"made":"a-1"}')}
        # All but the one that was first are told that it was stored before they came.
        assert sum((b"idempotent-replayed", b"true") in each.headers for each in told) == 24
        assert bench.runs == ["k-1"]
        assert await bench.writes() == ["a-1"]


async def test_a_wake_up_brings_the_answer_and_no_look_of_our_own_has_to(
    tmp_path: Path, migrated_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desks, "LOOK_SECONDS", 3_600.0)
    async with open_bench(tmp_path, store=migrated_database, wait=60.0) as bench, bench.working():
        assert (await bench.call()).status == 201


async def test_without_a_wake_up_the_answer_is_found_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DatagramWakeup, "nudge", lambda _: None)
    async with open_bench(tmp_path, wait=60.0) as bench:
        calling = asyncio.create_task(bench.call())
        await _waiting(bench, 1)
        await bench.work()
        assert (await calling).status == 201


async def test_who_waits_through_a_failure_is_told_of_it_and_the_next_call_starts_the_next_run(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=60.0, failed="run_again") as bench, bench.working():
        bench.errors = [failure()]
        assert problem(await bench.call()) == "failed"
        assert (await bench.call()).status == 201
        assert bench.runs == ["k-1", "k-1"] and await bench.writes() == ["a-1"]


async def test_when_its_time_is_up_a_caller_is_told_202_and_the_run_goes_on(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=0.05) as bench, bench.working():
        bench.door.clear()
        assert (await bench.call()).status == 202
        await _inside(bench)
        bench.door.set()
        while (told := await bench.call()).status == 202:
            await asyncio.sleep(0)
        assert told.status == 201 and bench.runs == ["k-1"]


async def test_no_more_than_so_many_wait_and_the_others_are_told_202_at_once(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=60.0) as bench:
        _desk(bench)._most = 2
        waiting = [asyncio.create_task(bench.call(f"k-{number}")) for number in range(2)]
        await _waiting(bench, 2)
        assert (await bench.call("k-3")).status == 202
        assert not any(each.done() for each in waiting)
        await bench.work()
        assert [each.status for each in await asyncio.gather(*waiting)] == [201, 201]
        assert _desk(bench).waiting == 0


async def test_who_waits_at_a_stop_is_told_202_and_nobody_waits_afterwards(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=60.0) as bench:
        calling = asyncio.create_task(bench.call())
        await _waiting(bench, 1)
        bench.intake.let_callers_go()
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert (await calling).status == 202
        assert (await bench.call("k-2")).status == 202


async def test_while_the_ledger_is_away_calls_are_durable_and_told_202(tmp_path: Path) -> None:
    async with open_bench(tmp_path) as bench:
        (tmp_path / "ledger.db").rename(tmp_path / "elsewhere.db")
        assert (await bench.call()).status == 202
        assert (await bench.call()).status == 202  # nobody can say what became of it
        (tmp_path / "elsewhere.db").rename(tmp_path / "ledger.db")
        await bench.work()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (told := await bench.call()).status == 202:
                bench.clock.offset += timedelta(seconds=1)
        assert told.status == 201


async def test_a_caller_that_goes_away_cancels_nothing(tmp_path: Path) -> None:
    async with open_bench(tmp_path, wait=60.0) as bench:
        calling = asyncio.create_task(bench.call())
        await _waiting(bench, 1)
        calling.cancel()
        await asyncio.wait([calling])
        await bench.work()
        assert (await bench.call()).status == 201


async def _inside(bench: Bench) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not bench.runs:
            await asyncio.sleep(0)


async def _waiting(bench: Bench, count: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while _desk(bench).waiting < count:
            await asyncio.sleep(0)


def _desk(bench: Bench) -> desks.AnswerDesk:
    desk = bench.intake._desk
    assert isinstance(desk, desks.AnswerDesk)
    return desk
