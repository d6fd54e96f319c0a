"""A sender whose clocks are changed: its day moves by an hour of ours, and nobody is called for that."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from landfast.domain.alerts.observation import Counted, Observation
from landfast.domain.alerts.rules import findings
from landfast.domain.alerts.volumes import Past, Volume, quarters_wanted
from landfast.domain.rates import Meter

BERLIN = ZoneInfo("Europe/Berlin")
MINUTE = timedelta(minutes=1)
COUNTED_AFTER = timedelta(minutes=2)
EACH_MINUTE = 70

SPRING, AUTUMN = datetime(2026, 3, 29, tzinfo=UTC), datetime(2026, 10, 25, tzinfo=UTC)
"""Sundays. Until then, and from then on, its day begins at 7 or at 6 o'clock UTC, and ends at 17 or at 16."""

DAYS = (-1, 0, 1, 6, 7, 8, 15, 22)
LOOKS = [timedelta(hours=hour, minutes=minute) for hour in (0, 5, 6, 7, 15, 16, 17) for minute in (7, 22, 37, 52)]


def is_open(moment: datetime) -> bool:
    return 8 <= moment.astimezone(BERLIN).hour < 18


def found(now: datetime, *, broken: datetime | None = None, times: int = 1) -> set[str]:
    """What is found at a source that sends evenly from 8 to 18 in Berlin, and at a handler that keeps up with it. It is
    `broken` from then on, or sends so many times as much now."""
    quarters = [q for q in quarters_wanted(now) if q + 15 * MINUTE <= now - COUNTED_AFTER]
    busy = [q for q in quarters if is_open(q) and (broken is None or q < broken)]
    past = Past.of(
        quarters,
        [
            Volume(quarter, meter, name, 15 * EACH_MINUTE)
            for quarter in busy
            for meter, name in ((Meter.STORED, "shop"), (Meter.DONE, "create_order"))
        ],
    )
    minutes = [now.replace(second=0) - ago * MINUTE for ago in range(60)]
    sent = [minute for minute in minutes if is_open(minute) and (broken is None or minute < broken)]
    each = {
        Counted(Meter.STORED, "shop", "", ""): EACH_MINUTE * times,
        Counted(Meter.DONE, "shop", "create_order", ""): EACH_MINUTE * times,
    }
    heard = max([*sent, *(quarter + 14 * MINUTE for quarter in busy)])
    recent = {minute: Counter(each) for minute in sent}
    return {
        f"{one.name}/{one.subject}"
        for one in findings(Observation(at=now, recent=recent, past=past, heard={"shop": heard}))
    }


@pytest.mark.req("R41")
@pytest.mark.parametrize("change", [SPRING, AUTUMN])
def test_a_source_whose_clocks_were_changed_is_neither_silent_nor_too_loud(change: datetime) -> None:
    for day in DAYS:
        for look in LOOKS:
            now = change + timedelta(days=day) + look
            assert found(now) == set(), now


@pytest.mark.req("R41")
@pytest.mark.parametrize("change", [SPRING, AUTUMN])
@pytest.mark.parametrize("day", DAYS)
def test_one_that_is_silent_in_the_middle_of_its_day_is_told_all_the_same(change: datetime, day: int) -> None:
    noon = change + timedelta(days=day, hours=12)
    assert found(noon + 20 * MINUTE, broken=noon - 15 * MINUTE) == {"source-silent/shop", "volume-low/create_order"}


@pytest.mark.parametrize("change", [SPRING, AUTUMN])
def test_one_that_fell_silent_at_night_is_told_of_in_the_morning(change: datetime) -> None:
    """Its day begins at eight: an hour for what its clocks may have been changed by, and another where they were."""
    for day in DAYS:
        night = change + timedelta(days=day, hours=1)
        hour = 9 if day < 0 else 10
        morning = night.astimezone(BERLIN).replace(hour=hour, minute=30).astimezone(UTC)
        assert "source-silent/shop" in found(morning, broken=night), morning


@pytest.mark.parametrize("change", [SPRING, AUTUMN])
@pytest.mark.parametrize("hour", [7, 12, 15])
def test_one_that_sends_many_times_as_much_is_told_all_the_same(change: datetime, hour: int) -> None:
    now = change + timedelta(days=1, hours=hour, minutes=20)
    assert found(now, times=10) == {"volume-high/shop", "volume-high/create_order"}
