"""Receipts: who was first, decided by inserting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

import pytest

from landfast.domain.errors import LedgerUnavailableError, ReceiptBusyError
from landfast.domain.outcome import Outcome, Receipt
from landfast.ledgers import limits
from landfast.ports.ledger import Ledger
from landfast.testing.conformance.ledger.desk import (
    DEADLINE,
    Desk,
    bury,
    key,
    order,
    orders,
    process,
    receipt_count,
    reserve,
    tombstone,
    transaction,
)
from landfast.testing.conformance.ledger.waiting import A_MOMENT, held_up, patiently


class ReceiptConformance:
    async def test_the_first_to_receive_a_key_has_it_and_the_next_finds_it_done(self, desk: Desk) -> None:
        assert await reserve(desk.ledger, key()) == [None]
        assert await reserve(desk.ledger, key()) == [Receipt(key(), Outcome.DONE)]

    async def test_answers_come_in_the_order_of_the_keys(self, desk: Desk) -> None:
        keys = [key(f"evt_{number}") for number in range(9)]
        await reserve(desk.ledger, *keys[::2])
        answers = await reserve(desk.ledger, *reversed(keys))
        expected = [Receipt(each, Outcome.DONE) if number % 2 == 0 else None for number, each in enumerate(keys)]
        assert answers == expected[::-1]

    async def test_events_handlers_and_runs_have_receipts_of_their_own(self, desk: Desk) -> None:
        keys = [key(), key("evt_2"), key(handler="tell_crm")]
        assert await reserve(desk.ledger, *keys) == [None] * 3
        assert await reserve(desk.ledger, key(run=2), forced=True) == [None]

    async def test_a_rollback_leaves_nothing(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
        assert await orders(desk) == []
        assert await receipt_count(desk) == 0
        assert await reserve(desk.ledger, key()) == [None]

    async def test_receipt_and_writes_are_seen_together_and_not_before_the_commit(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await order(tx, "pay_1")
            assert (await orders(desk), await receipt_count(desk)) == ([], 0)
            await tx.commit(results=(), effects=())
        assert (await orders(desk), await receipt_count(desk)) == (["pay_1"], 1)

    async def test_a_successor_waits_for_the_zombie_and_skips_what_it_committed(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as zombie:
            assert await zombie.reserve([key()]) == [None]
            await order(zombie, "pay_1")
            waiting = await held_up(lambda: process(successor, key(), "pay_2"))
            await zombie.commit(results=(), effects=())
        assert await waiting == Receipt(key(), Outcome.DONE)
        assert await orders(desk) == ["pay_1"]

    async def test_a_successor_goes_on_when_the_zombie_rolls_back(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as zombie:
            await zombie.reserve([key()])
            await order(zombie, "pay_1")
            waiting = await held_up(lambda: process(successor, key(), "pay_2"))
        assert await waiting is None
        assert await orders(desk) == ["pay_2"]

    async def test_a_zombie_that_comes_late_finds_what_its_successor_did(self, desk: Desk) -> None:
        successor = await desk.another()
        assert await process(successor, key(), "pay_1") is None
        assert await process(desk.ledger, key(), "pay_2") == Receipt(key(), Outcome.DONE)
        assert await orders(desk) == ["pay_1"]

    async def test_a_worker_whose_receipts_come_first_waits_no_longer_than_a_second(self, desk: Desk) -> None:
        successor = await desk.another()
        zombie = await desk.ledger.begin(deadline=DEADLINE)
        try:
            await zombie.reserve([key()])
            async with asyncio.timeout(limits.ANSWER_WAIT / 2):
                with pytest.raises(ReceiptBusyError):
                    await _reserved(successor)
        finally:
            await zombie.rollback()
        assert await _reserved(successor) == [None]

    async def test_nobody_waits_longer_than_a_second(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as zombie:
            await zombie.reserve([key()])
            with pytest.raises(ReceiptBusyError):
                await process(successor, key(), "pay_2")
            await order(zombie, "pay_1")
            await zombie.commit(results=(), effects=())
        assert await orders(desk) == ["pay_1"]

    async def test_of_many_at_once_exactly_one_has_the_key(self, desk: Desk) -> None:
        ledgers = [desk.ledger, await desk.another()]
        payments = [f"pay_{number}" for number in range(12)]
        answers = await asyncio.gather(
            *(
                patiently(partial(process, ledgers[number % 2], key(), payment))
                for number, payment in enumerate(payments)
            )
        )
        assert sorted(answers.count(each) for each in (None, Receipt(key(), Outcome.DONE))) == [1, 11]
        assert len(await orders(desk)) == 1

    async def test_groups_in_opposite_orders_do_not_hold_each_other_up(self, desk: Desk) -> None:
        low, middle, high = sorted((key(f"evt_{number}") for number in range(3)), key=lambda each: each.digest)
        ledgers = [await desk.another(), await desk.another()]
        orders_of_keys = [(low, middle, high), (high, middle, low)]
        async with transaction(desk.ledger) as holder:
            await holder.reserve([middle])
            # Each goes as far as it can before the middle one: taken in the order given, that would be too far.
            waiting = [
                asyncio.create_task(reserve(each, *keys)) for each, keys in zip(ledgers, orders_of_keys, strict=True)
            ]
            assert not (await asyncio.wait(waiting, timeout=A_MOMENT))[0]
        answers = await asyncio.gather(*waiting)
        assert sum(answer is None for each in answers for answer in each) == 3

    async def test_a_receipt_that_is_withdrawn_is_free_for_the_next(self, desk: Desk) -> None:
        await reserve(desk.ledger, key("evt_3"))
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key("evt_1"), key("evt_2"), key("evt_3")])
            await tx.withdraw([key("evt_2"), key("evt_3")])  # the third is not ours to take back
            await tx.commit(results=(), effects=())
        done = [Receipt(key(f"evt_{number}"), Outcome.DONE) for number in (1, 2, 3)]
        assert await reserve(desk.ledger, *(each.key for each in done)) == [done[0], None, done[2]]

    async def test_receipts_of_several_events_are_read_with_all_their_handlers_and_runs(self, desk: Desk) -> None:
        keys = {key(), key(handler="tell_crm"), key("evt_2")}
        await reserve(desk.ledger, *keys)
        await reserve(desk.ledger, key(run=2), forced=True)
        digests = [key().digest, key("evt_2").digest, key("evt_3").digest]
        assert {each.key for each in await desk.ledger.receipts(digests)} == keys | {key(run=2)}

    async def test_the_result_is_kept_in_the_receipt(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key(), key("evt_2")])
            await tx.commit(results=[(key(), b'{"order":1}')], effects=())
        expected = {Receipt(key(), Outcome.DONE, b'{"order":1}'), Receipt(key("evt_2"), Outcome.DONE)}
        assert set(await desk.ledger.receipts([key().digest, key("evt_2").digest])) == expected

    async def test_a_renamed_receipt_column_stops_everything_and_doubles_nothing(self, desk: Desk) -> None:
        await desk.change(f"ALTER TABLE {desk.table('receipt')} RENAME COLUMN digest TO event_digest")
        with pytest.raises(LedgerUnavailableError, match="not as they should be"):
            await process(desk.ledger, key(), "pay_1")
        with pytest.raises(LedgerUnavailableError):
            await desk.ledger.bury([tombstone(key())])
        with pytest.raises(LedgerUnavailableError):
            await desk.ledger.receipts([key().digest])
        assert await orders(desk) == []
        await desk.change(f"ALTER TABLE {desk.table('receipt')} RENAME COLUMN event_digest TO digest")
        assert await process(desk.ledger, key(), "pay_1") is None


class TombstoneConformance:
    async def test_a_tombstone_keeps_the_handler_from_running(self, desk: Desk) -> None:
        assert await desk.ledger.bury([tombstone(key())]) == [tombstone(key())]
        assert await process(desk.ledger, key(), "pay_1") == tombstone(key())
        assert await orders(desk) == []

    async def test_what_was_done_cannot_be_buried(self, desk: Desk) -> None:
        await process(desk.ledger, key(), "pay_1")
        assert await desk.ledger.bury([tombstone(key())]) == [Receipt(key(), Outcome.DONE)]

    async def test_the_first_tombstone_stays(self, desk: Desk) -> None:
        await desk.ledger.bury([tombstone(key(), b"crash_loop")])
        assert await desk.ledger.bury([tombstone(key())]) == [tombstone(key(), b"crash_loop")]

    async def test_several_are_buried_at_once_and_answered_in_order(self, desk: Desk) -> None:
        await process(desk.ledger, key("evt_2"), "pay_2")
        answer = await desk.ledger.bury([tombstone(key(f"evt_{number}")) for number in (3, 2, 1)])
        assert answer == [tombstone(key("evt_3")), Receipt(key("evt_2"), Outcome.DONE), tombstone(key("evt_1"))]

    async def test_a_burial_waits_for_the_handler_that_commits_after_all(self, desk: Desk) -> None:
        gravedigger = await desk.another()
        async with transaction(desk.ledger) as zombie:
            await zombie.reserve([key()])
            await order(zombie, "pay_1")
            waiting = await held_up(lambda: bury(gravedigger, key()))
            await zombie.commit(results=(), effects=())
        assert await waiting == [Receipt(key(), Outcome.DONE)]

    async def test_a_burial_succeeds_when_the_handler_rolls_back(self, desk: Desk) -> None:
        gravedigger = await desk.another()
        async with transaction(desk.ledger) as zombie:
            await zombie.reserve([key()])
            waiting = await held_up(lambda: bury(gravedigger, key()))
        assert await waiting == [tombstone(key())]

    async def test_a_burial_waits_no_longer_than_a_second(self, desk: Desk) -> None:
        for gravedigger in (desk.ledger, await desk.another()):
            async with transaction(desk.ledger) as zombie:
                await zombie.reserve([key()])
                with pytest.raises(ReceiptBusyError):
                    await gravedigger.bury([tombstone(key())])
        assert await receipt_count(desk) == 0


async def _reserved(ledger: Ledger) -> Sequence[Receipt | None]:
    """Begun, reserved, and given back."""
    tx = await ledger.begin(deadline=DEADLINE)
    try:
        return await tx.reserve([key()])
    finally:
        await tx.rollback()
