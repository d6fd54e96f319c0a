"""Marks and states: what a ledger remembers of a lane, locked and written with the receipts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from landfast.domain.errors import LedgerUnavailableError, ReceiptBusyError
from landfast.domain.ids import HandlerName, InboxId
from landfast.domain.lane import LaneId, LanePlace, lane_of
from landfast.domain.lane_memory import LaneMark, LaneState, StateKey
from landfast.domain.retention import DAY_SECONDS
from landfast.ports.ledger import Ledger
from landfast.testing.conformance.ledger.desk import HANDLER, Desk, key, transaction
from landfast.testing.conformance.ledger.expiry import AGES
from landfast.testing.conformance.ledger.waiting import A_MOMENT, held_up

INBOX = InboxId(b"i" * 16)


def lane(entity: str) -> LaneId:
    return lane_of(INBOX, "shop", entity)


def place(number: int) -> LanePlace:
    return LanePlace(number.to_bytes(16, "big"))


def mark(number: int, entity: str = "sub_1", handler: str = HANDLER) -> LaneMark:
    return LaneMark(lane(entity), HandlerName(handler), place(number))


def state_key(entity: str = "sub_1", machine: str = "subscription") -> StateKey:
    return StateKey(lane(entity), machine)


def state(name: str, entity: str = "sub_1", *, is_last: bool = False) -> LaneState:
    return LaneState(*state_key(entity), name, is_last)


async def move(ledger: Ledger, *marks: LaneMark) -> Sequence[LanePlace | None]:
    """In a transaction of its own, committed."""
    async with transaction(ledger) as tx:
        before = await tx.tx.mark(marks)
        await tx.commit(results=(), effects=())
    return before


async def stands(ledger: Ledger, *marks: LaneMark) -> Sequence[LanePlace | None]:
    """Where they are, by a transaction that moves nothing."""
    async with transaction(ledger) as tx:
        return await tx.tx.mark([each._replace(place=place(0)) for each in marks])


class MarkConformance:
    async def test_a_mark_moves_up_and_says_where_it_was(self, desk: Desk) -> None:
        assert await move(desk.ledger, mark(5)) == [None]
        assert await move(desk.ledger, mark(7)) == [place(5)]
        assert await stands(desk.ledger, mark(0)) == [place(7)]

    async def test_a_mark_never_moves_down(self, desk: Desk) -> None:
        await move(desk.ledger, mark(7))
        assert await move(desk.ledger, mark(3)) == [place(7)]
        assert await stands(desk.ledger, mark(0)) == [place(7)]

    async def test_lanes_and_handlers_have_marks_of_their_own_and_answers_come_in_their_order(self, desk: Desk) -> None:
        marks = [mark(number, f"sub_{number}") for number in range(1, 6)]
        await move(desk.ledger, *marks[::2])
        answers = await move(desk.ledger, *reversed(marks), mark(9, "sub_1", "tell_crm"))
        assert answers == [place(5), None, place(3), None, place(1), None]

    async def test_of_one_lane_twice_the_higher_place_counts(self, desk: Desk) -> None:
        assert await move(desk.ledger, mark(8), mark(5)) == [None, None]
        assert await stands(desk.ledger, mark(0)) == [place(8)]

    async def test_whoever_marks_twice_hears_where_it_was_before_the_transaction(self, desk: Desk) -> None:
        await move(desk.ledger, mark(2))
        async with transaction(desk.ledger) as tx:
            assert await tx.tx.mark([mark(5)]) == await tx.tx.mark([mark(6)]) == [place(2)]

    async def test_a_rollback_leaves_every_mark_where_it_was(self, desk: Desk) -> None:
        await move(desk.ledger, mark(2))
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key()])
            await tx.tx.mark([mark(5), mark(5, "sub_2")])
        assert await stands(desk.ledger, mark(0), mark(0, "sub_2")) == [place(2), None]

    async def test_no_marks_are_no_trouble(self, desk: Desk) -> None:
        assert await move(desk.ledger) == []

    async def test_withdrawing_puts_marks_back_to_where_they_were_or_to_what_was_reached(self, desk: Desk) -> None:
        await move(desk.ledger, mark(2, "sub_1"), mark(2, "sub_2"), mark(9, "sub_3"))
        async with transaction(desk.ledger) as tx:
            await tx.reserve([key("evt_1"), key("evt_2")])
            await tx.tx.mark([mark(8, f"sub_{number}") for number in (1, 2, 3, 4, 5)])
            reached = [mark(5, "sub_2"), mark(4, "sub_2"), mark(5, "sub_3"), mark(5, "sub_5")]
            await tx.withdraw([key("evt_2")], reached=reached)
            await tx.commit(results=(), effects=())
        answers = await stands(desk.ledger, *(mark(0, f"sub_{number}") for number in (1, 2, 3, 4, 5)))
        assert answers == [place(2), place(5), place(9), None, place(5)]

    async def test_who_comes_second_waits_and_hears_what_the_first_committed(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as first:
            await first.tx.mark([mark(5)])
            waiting = await held_up(lambda: move(successor, mark(3)))
            await first.commit(results=(), effects=())
        assert await waiting == [place(5)]

    async def test_nobody_waits_for_a_mark_longer_than_a_second(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as first:
            await first.tx.mark([mark(5)])
            with pytest.raises(ReceiptBusyError):
                await move(successor, mark(3))
            await first.commit(results=(), effects=())
        assert await stands(desk.ledger, mark(0)) == [place(5)]

    async def test_marks_in_opposite_orders_do_not_hold_each_other_up(self, desk: Desk) -> None:
        low, middle, high = sorted((mark(1, f"sub_{number}") for number in range(3)), key=lambda each: each.lane)
        ledgers = [await desk.another(), await desk.another()]
        async with transaction(desk.ledger) as holder:
            await holder.tx.mark([middle])
            orders = [(low, middle, high), (high, middle, low)]
            waiting = [asyncio.create_task(move(each, *marks)) for each, marks in zip(ledgers, orders, strict=True)]
            assert not (await asyncio.wait(waiting, timeout=A_MOMENT))[0]
        answers = await asyncio.gather(*waiting)
        assert sum(answer is None for each in answers for answer in each) == 3

    async def test_a_mark_goes_when_it_was_not_moved_for_as_long_as_a_receipt_is_kept(self, desk: Desk) -> None:
        await move(desk.ledger, mark(1, "old"), mark(1, "used"))
        await desk.advance(69 * DAY_SECONDS)
        await move(desk.ledger, mark(1, "used"))
        assert await _expire(desk) == 0, "none is 70 days old"
        await desk.advance(2 * DAY_SECONDS)
        assert await _expire(desk) == 1
        assert await stands(desk.ledger, mark(0, "old"), mark(0, "used")) == [None, place(1)]


class LaneStateConformance:
    async def test_a_state_is_there_once_it_is_committed(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            assert await tx.tx.lock_states([state_key()]) == [None]
            await tx.tx.move_states([state("active")])
            assert await (await desk.another()).states([state_key()]) == [None]
            await tx.commit(results=(), effects=())
        assert await desk.ledger.states([state_key()]) == ["active"]
        async with transaction(desk.ledger) as tx:
            assert await tx.tx.lock_states([state_key()]) == ["active"]

    async def test_entities_and_lifecycles_have_states_of_their_own_and_answers_come_in_their_order(
        self, desk: Desk
    ) -> None:
        await _put(desk.ledger, state("active", "sub_1"), state("gone", "sub_3"))
        keys = [state_key("sub_3"), state_key("sub_2"), state_key("sub_1"), state_key("sub_1", "trial")]
        assert await desk.ledger.states(keys) == ["gone", None, "active", None]
        assert await desk.ledger.states([]) == []
        async with transaction(desk.ledger) as tx:
            assert await tx.tx.lock_states(keys) == ["gone", None, "active", None]
            assert await tx.tx.lock_states([]) == []

    async def test_a_state_that_was_only_locked_is_none(self, desk: Desk) -> None:
        async with transaction(desk.ledger) as tx:
            await tx.tx.lock_states([state_key()])
            await tx.commit(results=(), effects=())
        assert await desk.ledger.states([state_key()]) == [None]

    async def test_a_rollback_leaves_a_state_as_it_was(self, desk: Desk) -> None:
        await _put(desk.ledger, state("active"))
        async with transaction(desk.ledger) as tx:
            await tx.tx.lock_states([state_key()])
            await tx.tx.move_states([state("cancelled", is_last=True)])
        assert await desk.ledger.states([state_key()]) == ["active"]

    async def test_who_comes_second_to_a_state_waits_and_hears_what_the_first_committed(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as first:
            await first.tx.lock_states([state_key()])
            waiting = await held_up(lambda: _lock(successor, state_key()))
            await first.tx.move_states([state("active")])
            await first.commit(results=(), effects=())
        assert await waiting == ["active"]

    async def test_nobody_waits_for_a_state_longer_than_a_second(self, desk: Desk) -> None:
        successor = await desk.another()
        async with transaction(desk.ledger) as first:
            await first.tx.lock_states([state_key()])
            with pytest.raises(ReceiptBusyError):
                await _lock(successor, state_key())

    async def test_only_a_state_that_nothing_follows_is_forgotten(self, desk: Desk) -> None:
        await _put(desk.ledger, state("active", "living"), state("cancelled", "over", is_last=True))
        await desk.advance(69 * DAY_SECONDS)
        assert await _expire(desk) == 0
        await desk.advance(2 * DAY_SECONDS)
        assert await _expire(desk) == 1
        assert await desk.ledger.states([state_key("living"), state_key("over")]) == ["active", None]

    async def test_a_ledger_that_cannot_be_asked_for_states_says_so(self, desk: Desk) -> None:
        await desk.change(f"ALTER TABLE {desk.table('lane_state')} RENAME COLUMN state TO mood")
        with pytest.raises(LedgerUnavailableError, match="not as they should be"):
            await desk.ledger.states([state_key()])


async def _put(ledger: Ledger, *states: LaneState) -> None:
    async with transaction(ledger) as tx:
        await tx.tx.lock_states([StateKey(each.lane, each.machine) for each in states])
        await tx.tx.move_states(states)
        await tx.commit(results=(), effects=())


async def _lock(ledger: Ledger, *keys: StateKey) -> Sequence[str | None]:
    async with transaction(ledger) as tx:
        return await tx.tx.lock_states(keys)


async def _expire(desk: Desk) -> int:
    total = step = await desk.ledger.expire(AGES)
    while step.rest is not None:
        step = await desk.ledger.expire(AGES, at=step.rest)
        total += step
    return total.lanes
