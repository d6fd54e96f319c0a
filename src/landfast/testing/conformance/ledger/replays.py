"""Runs: a replay repeats nothing that is done, unless it is forced."""

from __future__ import annotations

from landfast.domain.outcome import Outcome, Receipt
from landfast.testing.conformance.ledger.desk import (
    Desk,
    key,
    order,
    orders,
    outcomes,
    process,
    reserve,
    tombstone,
    transaction,
)
from landfast.testing.conformance.ledger.desk import bury as dig
from landfast.testing.conformance.ledger.waiting import held_up


class ReplayConformance:
    async def test_a_replay_skips_what_an_earlier_run_did_and_leaves_no_receipt(self, desk: Desk) -> None:
        await process(desk.ledger, key(), "pay_1")
        assert await process(desk.ledger, key(run=2), "pay_2") == Receipt(key(), Outcome.DONE)
        assert await reserve(desk.ledger, key(run=3)) == [Receipt(key(), Outcome.DONE)]
        assert await outcomes(desk.ledger, key()) == {1: Outcome.DONE}
        assert await orders(desk) == ["pay_1"]

    async def test_a_forced_replay_adds_one_set_of_writes_however_often_it_is_tried(self, desk: Desk) -> None:
        await process(desk.ledger, key(), "pay_1")
        assert await process(desk.ledger, key(run=2), "pay_2", forced=True) is None
        assert await process(desk.ledger, key(run=2), "pay_3", forced=True) == Receipt(key(run=2), Outcome.DONE)
        assert await orders(desk) == ["pay_1", "pay_2"]

    async def test_force_is_for_its_own_key_only(self, desk: Desk) -> None:
        await reserve(desk.ledger, key(), key("evt_2"))
        async with transaction(desk.ledger) as tx:
            answer = await tx.reserve([key(run=2), key("evt_2", run=2)], forced=frozenset({key(run=2)}))
        assert answer == [None, Receipt(key("evt_2"), Outcome.DONE)]

    async def test_a_replay_runs_what_an_earlier_run_buried(self, desk: Desk) -> None:
        await dig(desk.ledger, key())
        assert await process(desk.ledger, key(run=2), "pay_1") is None
        assert await outcomes(desk.ledger, key()) == {1: Outcome.DEAD, 2: Outcome.DONE}

    async def test_what_an_earlier_run_did_is_not_buried_by_a_later_one(self, desk: Desk) -> None:
        await process(desk.ledger, key(), "pay_1")
        assert await desk.ledger.bury([tombstone(key(run=2))]) == [Receipt(key(), Outcome.DONE)]
        assert await outcomes(desk.ledger, key()) == {1: Outcome.DONE}
        forced = await desk.ledger.bury([tombstone(key(run=2))], forced=frozenset({key(run=2)}))
        assert forced == [tombstone(key(run=2))]

    async def test_to_bury_a_later_run_closes_the_earlier_ones(self, desk: Desk) -> None:
        await dig(desk.ledger, key(run=3))
        late = await process(desk.ledger, key(), "pay_1")
        assert late is not None
        assert late.outcome is Outcome.DEAD
        assert await orders(desk) == []

    async def test_the_latest_run_that_was_done_is_answered(self, desk: Desk) -> None:
        await dig(desk.ledger, key())
        await process(desk.ledger, key(run=2), "pay_1")
        await process(desk.ledger, key(run=3), "pay_2", forced=True)
        assert await reserve(desk.ledger, key(run=4)) == [Receipt(key(run=3), Outcome.DONE)]

    async def test_a_zombie_of_the_earlier_run_finds_it_closed(self, desk: Desk) -> None:
        assert await process(desk.ledger, key(run=2), "pay_2") is None
        late = await process(desk.ledger, key(), "pay_1")
        assert late is not None
        assert late.outcome is Outcome.DEAD
        assert await orders(desk) == ["pay_2"]

    async def test_a_replay_waits_for_a_zombie_of_the_earlier_run(self, desk: Desk) -> None:
        replaying = await desk.another()
        async with transaction(desk.ledger) as zombie:
            await zombie.reserve([key()])
            await order(zombie, "pay_1")
            waiting = await held_up(lambda: process(replaying, key(run=2), "pay_2"))
            await zombie.commit(results=(), effects=())
        assert await waiting == Receipt(key(), Outcome.DONE)
        assert await orders(desk) == ["pay_1"]
