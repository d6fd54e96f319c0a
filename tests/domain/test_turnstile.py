"""In no second do more begin than the rate says, and nobody waits without need."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.dependency import Dependency
from landfast.domain.turnstile import QUEUE_SECONDS_AT_MOST, Turnstile, let_through

DAWN = 1_800_000_000.0


@pytest.mark.req("R31")
@given(
    rate=st.sampled_from([1.0, 3.0, 9.5, 20.0, 250.0, 1_000.0]),
    asks=st.lists(st.tuples(st.floats(0, 0.3), st.integers(1, 60)), min_size=1, max_size=60),
)
def test_in_no_second_do_more_begin_than_the_rate_says(rate: float, asks: list[tuple[float, int]]) -> None:
    stile, now, begun = Turnstile(), DAWN, list[float]()
    for pause, wanted in asks:
        now += pause
        stile, passage = let_through(stile, now=now, wanted=wanted, behind=0, rate=rate, spacing=rate)
        begun += [now] * passage.granted
        assert passage.granted + len(passage.waits) == wanted
    for start in begun:
        assert sum(start <= other < start + 1 for other in begun) <= rate + 1


def test_whoever_comes_at_the_pace_of_the_queue_is_let_through() -> None:
    rate, stile, now = 100.0, Turnstile(), DAWN
    stile, passage = let_through(stile, now=now, wanted=50, behind=450, rate=rate, spacing=rate)
    came_back = [now + wait for wait in passage.waits]
    assert len(came_back) == 500 - passage.granted
    again = 0
    for moment in came_back:
        stile, passage = let_through(stile, now=moment, wanted=1, behind=0, rate=rate, spacing=rate)
        again += not passage.granted
    assert again < 100  # the burst is taken off the rate, so a tenth has to ask again


def test_a_place_in_the_queue_is_never_further_away_than_ten_minutes() -> None:
    _, passage = let_through(Turnstile(), now=DAWN, wanted=2, behind=5_000, rate=1.0, spacing=1.0)
    assert max(passage.waits) == pytest.approx(QUEUE_SECONDS_AT_MOST)


def test_a_rate_that_was_raised_or_a_clock_that_was_set_back_counts_within_a_moment() -> None:
    slow, _ = let_through(Turnstile(), now=DAWN, wanted=1, behind=0, rate=0.01, spacing=0.01)
    raised, _ = let_through(slow, now=DAWN + 0.1, wanted=1, behind=0, rate=100.0, spacing=100.0)
    _, passage = let_through(raised, now=DAWN + 0.3, wanted=1, behind=0, rate=100.0, spacing=100.0)
    assert passage.granted == 1
    later, _ = let_through(Turnstile(), now=DAWN + 1e6, wanted=1, behind=9, rate=10.0, spacing=10.0)
    _, passage = let_through(later, now=DAWN, wanted=1, behind=1, rate=10.0, spacing=10.0)
    assert max(passage.waits, default=0.0) < QUEUE_SECONDS_AT_MOST


def test_the_rate_grows_up_to_its_ceiling_and_without_one_the_limit_ends() -> None:
    assert [Dependency("mailer", 60.0).rate_after(second) for second in (0, 1, 2, 3, 1e9)] == [10, 20, 40, 60, 60]
    assert [Dependency("mailer").rate_after(second) for second in (0, 3, 6, 7, 1e9)] == [10, 80, 640, None, None]
