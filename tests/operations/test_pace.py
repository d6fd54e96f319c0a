"""A pass of retention is not felt at first, catches up where it is behind, and never rests for long."""

from __future__ import annotations

import pytest

from landfast.operations.pace import AT_MOST_SHARE, HARDER_EVERY_SECONDS, LONGEST_REST_SECONDS, Pace
from landfast.testing.clock import ManualClock

pytestmark = pytest.mark.req("R43")


async def rest_after(clock: ManualClock, pace: Pace, seconds: float) -> float:
    """How long it rests after it has worked for so long."""
    clock.advance(seconds)
    began = clock.monotonic()
    await pace.rest()
    return clock.monotonic() - began


async def test_it_begins_with_its_share_of_the_time() -> None:
    clock = ManualClock()
    pace = Pace(clock, 0.01)
    assert [await rest_after(clock, pace, seconds) for seconds in (0.1, 0.2)] == pytest.approx([9.9, 19.8])


async def test_the_longer_it_takes_the_more_of_the_time_it_has() -> None:
    clock = ManualClock()
    pace = Pace(clock, 0.01)
    shares = []
    for _ in range(7):
        rest = await rest_after(clock, pace, 0.1)
        shares.append(0.1 / (0.1 + rest))
        clock.advance(HARDER_EVERY_SECONDS - 0.1 - rest)
        pace._rested_at = clock.monotonic()
    assert shares == pytest.approx([0.01, 0.02, 0.04, 0.08, 0.16, AT_MOST_SHARE, AT_MOST_SHARE])


async def test_it_never_rests_for_long_whatever_took_long() -> None:
    clock = ManualClock()
    assert await rest_after(clock, Pace(clock, 0.01), 599) == LONGEST_REST_SECONDS


async def test_whoever_waits_for_it_has_it_work_all_the_time() -> None:
    clock = ManualClock()
    assert await rest_after(clock, Pace(clock, 1.0), 10_000) == 0
