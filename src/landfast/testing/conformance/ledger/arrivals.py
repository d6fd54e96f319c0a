"""Effects that stand for an event that others bring: done by the commit that brings it, whoever commits first."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

import pytest

from landfast.domain.arrival import Arrived, Awaits
from landfast.domain.effect import EffectSettlement, EffectSignal, EffectState, StagedEffect, Step
from landfast.domain.errors import ReceiptBusyError
from landfast.domain.fault import Fault
from landfast.domain.retention import DAY_SECONDS
from landfast.ports.ledger import Ledger
from landfast.testing.conformance.ledger.desk import Desk, effect, key, stage, transaction
from landfast.testing.conformance.ledger.effects import claim, counts
from landfast.testing.conformance.ledger.steps import AGES, finish, names

HOUR = 3_600.0
PAID = "arrival:paid"


class ArrivalConformance:
    async def test_what_was_staged_after_an_arrival_is_free_when_it_has_come(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting())
        assert await names(desk.ledger, 1) == []
        assert await desk.ledger.counts() == counts(delayed=1, waiting=1)
        await come(desk.ledger, PAID)
        (step,) = await claim(desk.ledger, 2)
        wait, _ = waiting()
        assert (step.staged.name, step.results) == ("ship", {wait.key: b'{"event":"evt_paid"}'})
        rows = {row["name"]: row for row in await desk.ledger.list(limit=9)}
        assert rows["shop:paid"]["state"] is EffectState.DONE
        assert rows["shop:paid"]["step"] == wait.step
        assert await desk.look(f"SELECT count(*) FROM {desk.table('effect_wait')}") == [(1,)]  # noqa: S608 - the driver's own name

    async def test_one_that_came_shortly_before_is_not_waited_for(self, desk: Desk) -> None:
        await come(desk.ledger, PAID)
        await desk.advance(0.5 * HOUR)
        await stage(desk.ledger, *waiting(back=HOUR))
        assert await names(desk.ledger, 1) == ["ship"]
        assert await desk.ledger.counts() == counts(claimed=1, done=1)

    async def test_one_that_came_long_before_counts_for_nothing(self, desk: Desk) -> None:
        await come(desk.ledger, PAID)
        await desk.advance(2 * HOUR)
        await stage(desk.ledger, *waiting(back=HOUR))
        assert await names(desk.ledger, 1) == []
        await come(desk.ledger, PAID)
        assert await names(desk.ledger, 2) == ["ship"]

    async def test_another_arrival_frees_nobody(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting())
        await come(desk.ledger, "arrival:another")
        assert await names(desk.ledger, 1) == []

    async def test_one_commit_may_wait_for_what_it_brings(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.commit(results=(), effects=waiting(), arrivals=[Arrived(PAID, "evt_paid")])
        assert await names(desk.ledger, 1) == ["ship"]

    async def test_a_rolled_back_arrival_has_not_come(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting())
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key("paid")])
        assert await names(desk.ledger, 1) == []

    async def test_all_that_wait_for_it_are_free_in_every_run(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting())
        await stage(desk.ledger, *waiting(run=2))
        await stage(desk.ledger, *waiting(event="evt_2"))
        await come(desk.ledger, PAID)
        assert await names(desk.ledger, 1) == ["ship"] * 3

    async def test_a_second_one_changes_nothing(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting())
        await come(desk.ledger, PAID)
        await finish(desk.ledger, *await claim(desk.ledger, 1))
        await come(desk.ledger, PAID, event="evt_again")
        assert await desk.ledger.counts() == counts(done=2)
        assert await names(desk.ledger, 2) == []

    async def test_it_waits_for_other_steps_as_well(self, desk: Desk) -> None:
        wait, step = waiting()
        first = effect("pack", step=Step(leads=True))
        both = effect("ship", step=Step(after=(wait.key, first.key), waited=(wait.key,)))
        await stage(desk.ledger, wait, first, both)
        assert step.key == both.key
        await come(desk.ledger, PAID)
        held = await claim(desk.ledger, 1)
        assert [each.staged.name for each in held] == ["pack"]
        await finish(desk.ledger, *held)
        assert await names(desk.ledger, 2) == ["ship"]

    async def test_at_its_deadline_it_is_claimed_and_what_came_by_then_is_known(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting(deadline=HOUR))
        await desk.advance(0.9 * HOUR)
        assert await names(desk.ledger, 1) == []
        await desk.advance(0.2 * HOUR)
        (held,) = await claim(desk.ledger, 2)
        assert held.staged.step == waiting(deadline=HOUR)[0].step
        assert await desk.ledger.arrived(held) is None
        await finish(desk.ledger, held, result=b'{"timed_out":true}')
        (step,) = await claim(desk.ledger, 3)
        assert step.results == {held.staged.key: b'{"timed_out":true}'}

    async def test_what_comes_after_the_claim_and_before_the_settlement_is_not_late(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting(deadline=HOUR))
        await desk.advance(1.1 * HOUR)
        (held,) = await claim(desk.ledger, 1)
        await come(desk.ledger, PAID)
        assert await desk.ledger.arrived(held) == "evt_paid"
        late = EffectSettlement(held.staged.key, 1, held.token, EffectSignal.BURY, is_step=True)
        assert list(await desk.ledger.settle([late])) == [False]
        assert await names(desk.ledger, 2) == ["ship"]

    async def test_one_that_is_over_stays_so(self, desk: Desk) -> None:
        await stage(desk.ledger, *waiting(deadline=HOUR))
        await desk.advance(1.1 * HOUR)
        (held,) = await claim(desk.ledger, 1)
        dead = EffectSettlement(held.staged.key, 1, held.token, EffectSignal.BURY, is_step=True, error="timed_out")
        assert list(await desk.ledger.settle([dead])) == [True]
        await come(desk.ledger, PAID)
        assert await desk.ledger.counts() == counts(dead=1, waiting=1)
        assert await desk.ledger.revive([(held.staged.key, 1)]) == 1
        (held,) = await claim(desk.ledger, 2)
        assert await desk.ledger.arrived(held) == "evt_paid", "an operator who looks again finds it"

    async def test_what_nobody_waits_for_is_forgotten_with_the_receipts(self, desk: Desk) -> None:
        await come(desk.ledger, "arrival:of long ago")
        await stage(desk.ledger, *waiting(deadline=300 * DAY_SECONDS))
        await desk.advance(100 * DAY_SECONDS)
        step = await desk.ledger.expire(AGES)
        gone = step.lanes
        while step.rest is not None:
            step = await desk.ledger.expire(AGES, at=step.rest)
            gone += step.lanes
        assert gone == 1
        await come(desk.ledger, PAID)
        assert await names(desk.ledger, 1) == ["ship"]

    async def test_who_waits_and_who_comes_at_the_same_moment_find_each_other(self, desk: Desk) -> None:
        other, rounds = await desk.another(), 12

        async def wait(number: int) -> None:
            await patiently(desk.ledger, lambda: stage(desk.ledger, *waiting(event=f"w{number}", of=f"a:{number}")))

        async def arrive(number: int) -> None:
            await patiently(other, lambda: come(other, f"a:{number}"))

        for number in range(rounds):
            await asyncio.gather(wait(number), arrive(number))
        assert await names(desk.ledger, 1) == ["ship"] * rounds

    @pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
    async def test_who_comes_and_has_read_before_another_waited_frees_it(self, desk: Desk, isolation: str) -> None:
        """What a transaction reads may be as it was when it first read: those who waited since are freed all the same.
        Where writers take turns, the other one stages when this one is through."""
        other, left = await desk.another(), waiting()

        async def arrive() -> None:
            async with transaction(desk.ledger, isolation=isolation) as tx:
                await tx.reserve([key("paid")])
                await tx.handle.fetch("SELECT payment FROM shop_order")
                with contextlib.suppress(ReceiptBusyError):
                    await stage(other, *left)
                    left.clear()
                await tx.commit(results=(), effects=(), arrivals=[Arrived(PAID, "evt_paid")])

        await patiently(desk.ledger, arrive)
        await stage(other, *left)
        assert await names(desk.ledger, 1) == ["ship"]


async def come(ledger: Ledger, *arrivals: str, event: str = "evt_paid") -> None:
    """The handler of an event commits for which others wait."""
    async with transaction(ledger) as tx:
        await tx.reserve([key(f"{event} {arrivals}")])
        await tx.commit(results=(), effects=(), arrivals=[Arrived(each, event) for each in arrivals])


def waiting(
    *, event: str = "evt_1", run: int = 1, of: str = PAID, deadline: float = 24 * HOUR, back: float = HOUR
) -> list[StagedEffect]:
    """What stands for the arrival, and a step after it."""
    receipt = key(event, run=run)
    step = Step(leads=True, gives=True, arrival=Awaits(of, deadline, back))
    wait = effect("shop:paid", of=receipt, step=step, due_in=deadline)
    return [wait, effect("ship", of=receipt, step=Step(after=(wait.key,), waited=(wait.key,)))]


async def patiently(ledger: Ledger, work: Any) -> None:
    """As a worker does: what is busy, or in conflict, is tried again."""
    for _ in range(100):
        try:
            await work()
        except ReceiptBusyError:
            continue
        except Exception as error:
            if ledger.diagnose(error) is not Fault.CONFLICT:
                raise
        else:
            return
    pytest.fail("it was busy a hundred times")
