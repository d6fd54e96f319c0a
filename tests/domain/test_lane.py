"""The place that an event has in its lane, and the lane's own name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from landfast.domain.ids import InboxId
from landfast.domain.lane import AHEAD_MICROS, lane_of, occurred_micros, place_of
from landfast.domain.micros import micros

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
times = st.datetimes(datetime(1900, 1, 1), datetime(9999, 1, 1)).map(lambda naive: naive.replace(tzinfo=UTC))  # noqa: DTZ001


def test_the_senders_time_comes_before_arrival() -> None:
    assert place_of(NOON, NOON + 9 * SECOND) < place_of(NOON + SECOND, NOON + 2 * SECOND)


def test_within_one_time_of_the_sender_arrival_decides_and_then_the_number_in_its_batch() -> None:
    first, later = place_of(NOON, NOON + SECOND, 7), place_of(NOON, NOON + 2 * SECOND)
    assert first < later
    assert place_of(NOON, NOON + SECOND, 6) < first


def test_without_a_time_of_the_sender_arrival_is_its_time() -> None:
    assert place_of(None, NOON) == place_of(NOON, NOON)


def test_an_event_of_the_year_9999_is_five_minutes_ahead_at_most() -> None:
    far = place_of(datetime(9999, 12, 31, tzinfo=UTC), NOON)
    assert occurred_micros(far) == micros(NOON) + AHEAD_MICROS
    assert far < place_of(None, NOON + timedelta(minutes=6))


@given(st.none() | times, times, st.integers(0, 100_000))
def test_a_place_has_sixteen_bytes_whatever_the_times(
    occurred: datetime | None, received: datetime, number: int
) -> None:
    assert len(place_of(occurred, received, number)) == 16


def test_lanes_of_two_inboxes_sources_or_entities_differ() -> None:
    inbox, other = InboxId(b"a" * 16), InboxId(b"b" * 16)
    lanes = {
        lane_of(inbox, "shop", "1"),
        lane_of(other, "shop", "1"),
        lane_of(inbox, "shop1", ""),
        lane_of(inbox, "sho", "p1"),
    }
    assert len(lanes) == 4
    assert {len(lane) for lane in lanes} == {16}
