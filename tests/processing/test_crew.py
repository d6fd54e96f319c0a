"""How many hands work: more where they wait, two where the loop itself is busy."""

from __future__ import annotations

import asyncio

from landfast.processing.crew import BUSY, ENOUGH, LOOK_EVERY, Crew
from landfast.testing.clock import ManualClock


class Loop:
    """A processor's time that a test spends."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.used = 0.0

    def runs(self, seconds: float, *, share: float) -> None:
        self.clock.advance(seconds)
        self.used += seconds * share

    def crew(self, hands: int) -> Crew:
        return Crew(hands, self.clock, lambda: self.used)


async def turns() -> None:
    """Whoever was called has come."""
    for _ in range(3):
        await asyncio.sleep(0)


async def test_who_found_nothing_rests_until_called() -> None:
    crew = Loop().crew(1)
    resting = asyncio.create_task(crew.rest())
    await asyncio.sleep(0)
    assert not resting.done()
    crew.call()
    await resting


async def test_on_a_busy_loop_all_but_two_hands_rest_and_nobody_is_called() -> None:
    loop = Loop()
    crew = loop.crew(ENOUGH + 1)
    assert not crew.is_crowded()
    loop.runs(LOOK_EVERY, share=BUSY + 0.1)
    assert crew.is_crowded()
    resting = asyncio.create_task(crew.rest())
    await asyncio.sleep(0)
    assert not crew.is_crowded(), "two are at work, and both go on"
    crew.call()
    await turns()
    assert not resting.done()
    crew.dismiss()
    await resting


async def test_hands_that_wait_for_something_else_call_all_the_others() -> None:
    loop = Loop()
    crew = loop.crew(4)
    resting = [asyncio.create_task(crew.rest()) for _ in range(4)]
    await asyncio.sleep(0)
    loop.runs(1.0, share=1.0)
    for expected in (1, 2):
        crew.call()
        await turns()
        assert sum(hand.done() for hand in resting) == expected, "two are called however busy the loop is"
    loop.runs(1.0, share=0.1)
    for expected in (3, 4):
        crew.call()
        await turns()
        assert sum(hand.done() for hand in resting) == expected


async def test_nobody_rests_after_the_dismissal() -> None:
    crew = Loop().crew(2)
    crew.dismiss()
    await crew.rest()
    await crew.rest()


async def test_a_call_that_needed_nobody_more_makes_those_at_work_look_again_before_they_rest() -> None:
    loop = Loop()
    crew = loop.crew(ENOUGH)
    loop.runs(LOOK_EVERY, share=1.0)
    crew.call()
    await asyncio.wait_for(crew.rest(), 1)  # something came after this hand's last look
    resting = asyncio.create_task(crew.rest())
    await turns()
    assert not resting.done(), "once is enough"
    crew.dismiss()
    await resting
