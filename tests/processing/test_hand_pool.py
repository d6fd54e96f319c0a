"""How many hands work: more where they wait, two where the loop itself is busy."""

from __future__ import annotations

import asyncio

from landfast.processing.fairness.hand_pool import BUSY_LOOP_HANDS, BUSY_SHARE, BUSY_WINDOW_SECONDS, HandPool
from landfast.testing.clock import ManualClock
from tests.patience import PATIENCE_SECONDS


class Loop:
    """A processor's time that a test spends."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.used = 0.0

    def runs(self, seconds: float, *, share: float) -> None:
        self.clock.advance(seconds)
        self.used += seconds * share

    def pool(self, hands: int) -> HandPool:
        return HandPool(hands, self.clock, lambda: self.used)


async def turns() -> None:
    """Whoever was called has come."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_who_found_nothing_rests_until_called() -> None:
    pool = Loop().pool(1)
    resting = asyncio.create_task(pool.rest())
    await asyncio.sleep(0)
    assert not resting.done()
    pool.call()
    await resting


async def test_on_a_busy_loop_all_but_two_hands_rest_and_nobody_is_called() -> None:
    loop = Loop()
    pool = loop.pool(BUSY_LOOP_HANDS + 1)
    assert not pool.is_crowded()
    loop.runs(BUSY_WINDOW_SECONDS, share=BUSY_SHARE + 0.1)
    assert pool.is_crowded()
    resting = asyncio.create_task(pool.rest())
    await asyncio.sleep(0)
    assert not pool.is_crowded(), "two are at work, and both go on"
    pool.call()
    await turns()
    assert not resting.done()
    pool.dismiss()
    await resting


async def test_hands_that_wait_for_something_else_call_all_the_others() -> None:
    loop = Loop()
    pool = loop.pool(4)
    resting = [asyncio.create_task(pool.rest()) for _ in range(4)]
    await asyncio.sleep(0)
    loop.runs(1.0, share=1.0)
    for expected in (1, 2):
        pool.call()
        await turns()
        assert sum(hand.done() for hand in resting) == expected, "two are called however busy the loop is"
    loop.runs(1.0, share=0.1)
    for expected in (3, 4):
        pool.call()
        await turns()
        assert sum(hand.done() for hand in resting) == expected


async def test_nobody_rests_after_the_dismissal() -> None:
    pool = Loop().pool(2)
    pool.dismiss()
    await pool.rest()
    await pool.rest()


async def test_a_call_that_needed_nobody_more_makes_those_at_work_look_again_before_they_rest() -> None:
    loop = Loop()
    pool = loop.pool(BUSY_LOOP_HANDS)
    loop.runs(BUSY_WINDOW_SECONDS, share=1.0)
    pool.call()
    await asyncio.wait_for(pool.rest(), PATIENCE_SECONDS)  # something came after this hand's last look
    resting = asyncio.create_task(pool.rest())
    await turns()
    assert not resting.done(), "once is enough"
    pool.dismiss()
    await resting
