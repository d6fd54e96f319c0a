from __future__ import annotations

from datetime import UTC, datetime, timedelta

from landfast.domain.metering import Meters
from landfast.domain.rates import (
    DETAILS_AT_MOST,
    LATENCY_BOUNDS_SECONDS,
    LATENCY_BUCKETS,
    NAME_CHARACTERS,
    REST,
    TYPES_AT_MOST,
    Meter,
    Rate,
    RateKey,
    bucket_of,
    quantile,
    summed,
)

MINUTE = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)


def test_what_was_counted_is_taken_once_with_its_times() -> None:
    meters = Meters()
    for seconds in (0.0005, 0.001, 99.0):
        meters.count(Meter.DONE, "shop", "order.paid", "create_order", seconds=seconds)
    meters.count(Meter.DUPLICATE, "shop", detail="memory", count=3)
    done, duplicate = meters.take(MINUTE)
    assert (done.key, done.count, done.minute) == (("done", "shop", "order.paid", "create_order", ""), 3, MINUTE)
    assert done.histogram == (2, *[0] * (LATENCY_BUCKETS - 2), 1)
    assert duplicate == Rate(MINUTE, Meter.DUPLICATE, "shop", detail="memory", count=3)
    assert meters.take(MINUTE) == []
    meters.count(Meter.DUPLICATE, "shop", detail="memory")
    meters.take(MINUTE)
    assert meters.totals()[duplicate.key] == (4, ())


def test_a_handshake_that_takes_its_request_back_leaves_no_row() -> None:
    meters = Meters()
    meters.count(Meter.RECEIVED, "shop")
    meters.count(Meter.RECEIVED, "shop", count=-1)
    assert meters.take(MINUTE) == []


def test_types_and_details_beyond_the_limit_of_a_minute_are_counted_together() -> None:
    meters = Meters()
    for number in range(TYPES_AT_MOST + 20):
        meters.count(Meter.STORED, "shop", f"order_{number}", seconds=0.1)
        meters.count(Meter.FAILED, "bank", "t", "h", f"Error{number}")
    taken = {rate.key: rate for rate in meters.take(MINUTE)}
    assert sum(rate.count for rate in taken.values()) == 2 * (TYPES_AT_MOST + 20)
    rest = taken[RateKey(Meter.STORED, "shop", REST)]
    assert (rest.count, sum(rest.histogram)) == (20, 20)
    assert len([key for key in taken if key.meter is Meter.FAILED]) == DETAILS_AT_MOST + 1
    meters.count(Meter.STORED, "shop", "order_0")
    meters.count(Meter.STORED, "shop", "new")
    assert {rate.type for rate in meters.take(MINUTE)} == {"order_0", REST}, "the same minute goes on"
    meters.count(Meter.STORED, "shop", "new")
    assert [rate.type for rate in meters.take(MINUTE + timedelta(minutes=1))] == ["new"]


def test_a_long_name_is_cut_so_that_an_index_takes_it() -> None:
    meters = Meters()
    meters.count(Meter.STORED, "shop", "x" * 10_000)
    assert [len(rate.type) for rate in meters.take(MINUTE)] == [NAME_CHARACTERS]


def test_a_quantile_is_the_end_of_its_bucket() -> None:
    histogram = [0] * LATENCY_BUCKETS
    assert quantile(histogram, 0.5) is None
    histogram[bucket_of(0.004)] = 98
    histogram[bucket_of(7)] = 2
    assert (quantile(histogram, 0.5), quantile(histogram, 0.98), quantile(histogram, 0.99)) == (0.005, 0.005, 10.0)
    histogram[-1] = 1000
    assert quantile(histogram, 0.99) == float("inf")
    assert bucket_of(LATENCY_BOUNDS_SECONDS[0]) == 0


def test_rows_of_one_key_are_added_up() -> None:
    one = Rate(MINUTE, Meter.DONE, "shop", count=1, histogram=(1, 0))
    assert summed([one, one, Rate(MINUTE, Meter.DONE, "bank", count=5)]) == [
        Rate(MINUTE, Meter.DONE, "shop", count=2, histogram=(2, 0)),
        Rate(MINUTE, Meter.DONE, "bank", count=5),
    ]
