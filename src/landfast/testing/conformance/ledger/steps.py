"""Effects that are staged after others, or for a time: freed by the transaction that finishes the last of those."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from landfast.domain.effect import (
    SKIPPED,
    ClaimedEffect,
    EffectSettlement,
    EffectSignal,
    EffectState,
    StagedEffect,
    Step,
)
from landfast.domain.expiry import LedgerAges
from landfast.domain.retention import DAY_SECONDS
from landfast.ports.ledger import Ledger
from landfast.testing.conformance.ledger.desk import Desk, effect, key, stage, transaction
from landfast.testing.conformance.ledger.effects import claim, counts, suspect, token

AGES = LedgerAges(receipts=70 * DAY_SECONDS, done_effects=35 * DAY_SECONDS, dead_effects=365 * DAY_SECONDS)


class StepConformance:
    async def test_a_step_waits_until_all_that_it_is_staged_after_are_done(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=(), joined=("a", "b")))
        first, second = await claim(desk.ledger, 1)
        await desk.advance(DAY_SECONDS)
        assert await names(desk.ledger, 2) == []
        await finish(desk.ledger, await again(desk.ledger, first))
        assert await names(desk.ledger, 4) == []
        assert await desk.ledger.counts() == counts(claimed=1, done=1, waiting=1)
        await finish(desk.ledger, await again(desk.ledger, second))
        assert await names(desk.ledger, 6) == ["joined"]

    async def test_one_that_ends_frees_all_that_wait_for_nothing_else(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=("a",), c=("a",), last=("a", "b", "c")))
        for expected in (["a"], ["b", "c"], ["last"]):
            held = await claim(desk.ledger, 1)
            assert sorted(each.staged.name for each in held) == expected
            await finish(desk.ledger, *held)
        assert await desk.ledger.counts() == counts(done=4)

    async def test_a_step_is_claimed_as_it_was_staged_with_the_results_that_it_takes(self, desk: Desk) -> None:
        first, second, last = graph(a=(), b=(), last=("a", "b"))
        inputs: dict[str, str | tuple[str, ...]] = {"one": first.key, "all": (first.key, second.key)}
        last = replace(last, step=replace(last.step, named="the last", inputs=inputs))
        await stage(desk.ledger, first, second, last)
        a, b = sorted(await claim(desk.ledger, 1), key=lambda each: each.staged.name)
        await finish(desk.ledger, a, result=b'{"account":7}')
        await finish(desk.ledger, b)
        (claimed,) = await claim(desk.ledger, 2)
        assert claimed.staged == last
        assert claimed.results == {first.key: b'{"account":7}', second.key: None}
        rows = {row["name"]: row for row in await desk.ledger.list(limit=9)}
        assert rows["last"]["step"] == last.step
        assert [rows[name]["result"] for name in ("a", "b", "last")] == [b'{"account":7}', None, None]

    async def test_what_comes_to_anything_but_done_frees_nobody(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=("a",)))
        for number, signal in enumerate((EffectSignal.RELEASE, EffectSignal.RETRY, EffectSignal.POSTPONE)):
            (held,) = await claim(desk.ledger, number)
            await settle(desk.ledger, held, signal)
        (held,) = await claim(desk.ledger, 8)
        await settle(desk.ledger, held, EffectSignal.BURY)
        assert await desk.ledger.counts() == counts(dead=1, waiting=1)
        assert await desk.ledger.revive([(held.staged.key, 1)]) == 1
        (held,) = await claim(desk.ledger, 9)
        await finish(desk.ledger, held)
        assert await names(desk.ledger, 10) == ["b"]

    async def test_a_dead_step_that_is_skipped_frees_those_after_it_once_and_gives_them_what_was_said(
        self, desk: Desk
    ) -> None:
        a, b, last = graph(a=(), b=(), last=("a", "b"))
        await stage(desk.ledger, a, b, replace(last, step=replace(last.step, inputs={"one": a.key})))
        assert not await desk.ledger.skip(a.key, 1), "it is not dead"
        for held in await claim(desk.ledger, 1):
            await settle(desk.ledger, held, EffectSignal.BURY)
        assert not await desk.ledger.skip(a.key, 2), "it has no such run"
        assert await desk.ledger.skip(a.key, 1, result=b'{"by":"hand"}')
        assert not await desk.ledger.skip(a.key, 1), "it is done"
        assert await desk.ledger.counts() == counts(dead=1, done=1, waiting=1)
        assert await desk.ledger.skip(b.key, 1)
        (claimed,) = await claim(desk.ledger, 2)
        assert (claimed.staged.name, claimed.results) == ("last", {a.key: b'{"by":"hand"}'})
        assert await desk.ledger.revive([(a.key, 1)]) == 0
        row = next(row for row in await desk.ledger.list(limit=9) if row["name"] == "a")
        assert (row["state"], row["error"], row["result"]) == (EffectState.DONE, SKIPPED, b'{"by":"hand"}')

    async def test_a_stale_token_frees_nobody_and_the_end_counts_once(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=(), joined=("a", "b")))
        a, _ = sorted(await claim(desk.ledger, 1), key=lambda each: each.staged.name)
        await finish(desk.ledger, a)
        for stale in (a, replace(a, token=token(9))):
            assert list(await desk.ledger.settle([done(stale)])) == [False]
        assert await desk.ledger.counts() == counts(claimed=1, done=1, waiting=1)

    async def test_those_that_end_together_on_many_connections_free_the_join_once(self, desk: Desk) -> None:
        parts_ = [f"part_{number}" for number in range(12)]
        nodes: dict[str, Any] = dict.fromkeys(parts_, ()) | {"joined": parts_, "other": parts_[::-1]}
        await stage(desk.ledger, *graph(**nodes))
        parts = await claim(desk.ledger, 1)
        stores = [desk.ledger, await desk.another()]
        await asyncio.gather(*(finish(stores[number % 2], part) for number, part in enumerate(parts)))
        assert sorted(await names(desk.ledger, 2)) == ["joined", "other"]

    async def test_a_batch_that_ends_frees_what_waited_for_more_than_one_of_it(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=(), joined=("a", "b"), third=("b",)))
        await finish(desk.ledger, *await claim(desk.ledger, 1))
        assert sorted(await names(desk.ledger, 2)) == ["joined", "third"]

    async def test_another_run_has_a_graph_of_its_own(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=("a",)))
        await stage(desk.ledger, *graph(run=2, a=(), b=("a",)))
        first, second = sorted(await claim(desk.ledger, 1), key=lambda each: each.staged.run)
        await finish(desk.ledger, second)
        (freed,) = await claim(desk.ledger, 2)
        assert (freed.staged.name, freed.staged.run, first.staged.run) == ("b", 2, 1)

    async def test_staging_a_graph_again_changes_nothing(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=("a",)))
        (held,) = await claim(desk.ledger, 1)
        await finish(desk.ledger, held)
        await stage(desk.ledger, *graph(a=(), b=("a",)))
        assert await names(desk.ledger, 2) == ["b"]
        assert await desk.ledger.counts() == counts(claimed=1, done=1)

    async def test_a_graph_of_a_rolled_back_transaction_is_never_there(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
        assert await desk.ledger.counts() == counts()

    async def test_an_effect_that_is_staged_for_a_time_is_not_due_before_it(self, desk: Desk) -> None:
        await stage(desk.ledger, effect("later", due_in=3_600.0), effect("overdue", due_in=0.0))
        assert await names(desk.ledger, 1) == ["overdue"]
        (row,) = await desk.ledger.list(state=EffectState.DELAYED, limit=9)
        assert row["name"] == "later"
        assert row["at"] - row["created_at"] == timedelta(hours=1)
        await desk.advance(1_800)
        assert await names(desk.ledger, 2) == []
        await desk.advance(1_900)
        assert await names(desk.ledger, 3) == ["later"]

    async def test_a_step_that_is_free_waits_for_its_time(self, desk: Desk) -> None:
        first, later, overdue = graph(a=(), later=("a",), overdue=("a",))
        await stage(desk.ledger, first, replace(later, due_in=7_200.0), replace(overdue, due_in=600.0))
        held = await claim(desk.ledger, 1)
        await desk.advance(3_600)
        await finish(desk.ledger, *[await again(desk.ledger, each) for each in held])
        assert await names(desk.ledger, 2) == ["overdue"]
        assert await desk.ledger.counts() == counts(claimed=1, done=1, delayed=1)
        await desk.advance(3_700)
        assert await names(desk.ledger, 3) == ["later"]

    async def test_what_a_step_takes_does_not_expire_before_it_was_performed(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), dead=(), last=("a", "dead")))
        a, dead = sorted(await claim(desk.ledger, 1), key=lambda each: each.staged.name)
        await finish(desk.ledger, a, result=b"1")
        await settle(desk.ledger, dead, EffectSignal.BURY)
        await desk.advance(100 * DAY_SECONDS)
        assert await expire(desk.ledger) == 0
        await desk.ledger.revive([(dead.staged.key, 1)])
        await finish(desk.ledger, *await claim(desk.ledger, 2))
        await finish(desk.ledger, *await claim(desk.ledger, 3))
        await desk.advance(36 * DAY_SECONDS)
        assert await expire(desk.ledger) == 3
        assert await desk.look(f"SELECT count(*) FROM {desk.table('effect_wait')}") == [(0,)]  # noqa: S608 - the driver's own name

    async def test_with_one_that_nobody_revived_goes_what_waited_for_it(self, desk: Desk) -> None:
        await stage(desk.ledger, *graph(a=(), b=("a",), c=("b",)))
        (held,) = await claim(desk.ledger, 1)
        await settle(desk.ledger, held, EffectSignal.BURY)
        await desk.advance(366 * DAY_SECONDS)
        assert sum([await expire(desk.ledger) for _ in range(3)]) == 3
        assert await desk.look(f"SELECT count(*) FROM {desk.table('effect_wait')}") == [(0,)]  # noqa: S608 - the driver's own name


def graph(*, run: int = 1, **nodes: Sequence[str]) -> list[StagedEffect]:
    """Effects by name, each after those that it names."""
    of = key(run=run)
    keys = {name: effect(name, of=of).key for name in nodes}
    led = {name for after in nodes.values() for name in after}
    return [
        effect(name, of=of, step=Step(after=tuple(keys[each] for each in after), leads=name in led))
        for name, after in nodes.items()
    ]


async def names(ledger: Ledger, number: int) -> list[str]:
    return [each.staged.name for each in await claim(ledger, number)]


async def again(ledger: Ledger, held: ClaimedEffect) -> ClaimedEffect:
    """The oldest whose lease has expired meanwhile, which is this one."""
    found = await suspect(ledger, 77 + len(held.staged.name))
    assert found is not None
    return found


async def finish(ledger: Ledger, *held: ClaimedEffect, result: bytes | None = None) -> None:
    assert all(await ledger.settle([done(each, result=result) for each in held]))


async def settle(ledger: Ledger, held: ClaimedEffect, signal: EffectSignal) -> None:
    given = EffectSettlement(held.staged.key, held.staged.run, held.token, signal, is_step=True)
    assert list(await ledger.settle([given])) == [True]


def done(held: ClaimedEffect, **more: Any) -> EffectSettlement:
    return EffectSettlement(held.staged.key, held.staged.run, held.token, EffectSignal.FINISH, is_step=True, **more)


async def expire(ledger: Ledger) -> int:
    step = await ledger.expire(AGES)
    gone = step.effects
    while step.rest is not None:
        step = await ledger.expire(AGES, at=step.rest)
        gone += step.effects
    return gone
