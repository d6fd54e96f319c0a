"""Drawings: axes that people can read, nothing drawn that is not known, and no markup but ours."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from landfast.admin.charts.balance import LEAST_SHARE, WIDTH, Part, balance
from landfast.admin.charts.bars import bar_chart
from landfast.admin.charts.lines import Mark, Series, line_chart, sparkline
from landfast.admin.charts.scale import amount, round_up, seconds, ticks, time_ticks
from landfast.admin.charts.strip import Moment, strip

DAWN = datetime(2026, 11, 17, 5, tzinfo=UTC)
TIMES = [DAWN + timedelta(minutes=number) for number in range(90)]
HOSTILE = "</svg><script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


@given(st.floats(min_value=1e-6, max_value=1e12))
def test_an_axis_reaches_the_value_in_few_round_steps(value: float) -> None:
    end, step = round_up(value)
    assert end >= value * 0.999
    assert 2 <= len(ticks(end, step)) <= 6
    assert end <= value * 2.01, "and no more than half of it is empty"


@given(st.integers(min_value=1, max_value=60 * 24 * 40), st.integers(min_value=0, max_value=1439))
def test_times_at_an_axis_are_round_and_apart_alike(minutes: int, begin: int) -> None:
    first = DAWN + timedelta(minutes=begin)
    found = time_ticks(first, first + timedelta(minutes=minutes), at_most=9)
    assert len(found) <= 10
    assert len({later - before for before, later in pairwise(found)}) <= 1
    assert all(first <= each for each in found)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (1200, "1,200"), (12500, "12.5 k"), (3_000_000, "3 M"), (0.25, "0.25")]
)
def test_a_number_at_an_axis_is_short(value: float, text: str) -> None:
    assert amount(value) == text


def test_a_time_at_an_axis_has_its_unit() -> None:
    assert [seconds(each) for each in (0, 0.0025, 0.05, 2.5)] == ["0", "2.5 ms", "50 ms", "2.5 s"]
    assert seconds(float("inf")) == "over 30 s"


def test_a_value_of_which_only_the_least_is_known_stands_at_the_top_and_the_others_stay_where_they_are() -> None:
    values = [5.0] * 45 + [float("inf")] * 45
    drawn = line_chart(TIMES, [Series("p99", "hue-3", values)], title="Answers", label=seconds, beyond=30.0)
    (curve,) = [each for each in ET.fromstring(drawn)[0] if each.tag == "polyline"]
    heights = [float(point.partition(",")[2]) for point in curve.attrib["points"].split()]
    assert heights[-1] < heights[0], "five seconds are not at the top"
    assert "p99 over 30 s" in drawn and "30 s</text>" in drawn and "inf" not in drawn and "nan" not in drawn


def test_a_curve_has_a_hole_where_nothing_is_known() -> None:
    values: list[float | None] = [1.0] * 40 + [None] * 10 + [2.0] * 40
    drawn = ET.fromstring(line_chart(TIMES, [Series("in", "hue-1", values)], title="Flow", unit="per minute"))
    wide = drawn[0]
    assert len([each for each in wide if each.tag == "polyline"]) == 2
    assert "per minute" in "".join(wide.itertext())
    assert "in: now 2, at most 2" in wide.attrib["aria-label"]


def test_no_chart_is_drawn_of_nothing() -> None:
    assert line_chart([], [], title="Flow") == ""
    assert bar_chart([], [], span=timedelta(minutes=1), title="Failures") == ""
    assert strip([Moment(DAWN, "ok", "came")], title="Life") == ""


def test_a_mark_stands_where_it_happened() -> None:
    drawn = line_chart(
        TIMES, [Series("in", "hue-1", [1.0] * 90)], title="Flow", marks=[Mark(TIMES[45], "worker started")]
    )
    assert drawn.count("worker started") == 2, "once for each width"
    outside = line_chart(
        TIMES, [Series("in", "hue-1", [1.0] * 90)], title="Flow", marks=[Mark(DAWN - timedelta(days=1), "old")]
    )
    assert "old" not in outside


def test_bars_stand_on_each_other() -> None:
    series = [Series("KeyError", "hue-2", [3.0] * 90), Series("Timeout", "hue-3", [1.0] * 90)]
    drawn = ET.fromstring(
        bar_chart(TIMES, series, span=timedelta(minutes=1), title="Failures", marks=[Mark(TIMES[3], "start")])
    )
    first, second = [each for each in drawn[0] if each.tag == "rect"][:2]
    assert float(first.attrib["height"]) == pytest.approx(3 * float(second.attrib["height"]), rel=0.02)
    assert float(second.attrib["y"]) + float(second.attrib["height"]) == pytest.approx(
        float(first.attrib["y"]), abs=0.2
    )


def test_one_among_a_million_is_seen_in_a_balance() -> None:
    drawn = ET.fromstring(balance([Part("stored", "ok", 1_000_000), Part("lost", "bad", 1)], title="Received"))
    widths = [float(each.attrib["width"]) for each in drawn if "fill" in each.attrib["class"].split()]
    assert min(widths) >= LEAST_SHARE * WIDTH * 0.9
    assert sum(widths) == pytest.approx(WIDTH, abs=0.5)
    assert "lost 1" in drawn.attrib["aria-label"]


def test_the_balance_of_nothing_says_so() -> None:
    assert "nothing yet" in balance([Part("stored", "ok", 0)], title="Received")


def test_a_strip_is_as_long_as_the_time_was() -> None:
    moments = [Moment(TIMES[0], "ok", "came"), Moment(TIMES[10], "bad", "failed"), Moment(TIMES[40], "ok", "done")]
    drawn = ET.fromstring(strip(moments, title="Life"))
    first, second, third = [float(each.attrib["cx"]) for each in drawn[0] if each.tag == "circle"]
    assert (third - second) == pytest.approx(3 * (second - first), rel=0.01)


def test_whatever_a_name_says_stays_text() -> None:
    series = [Series(HOSTILE, "hue-1", [1.0] * 90)]
    marks = [Mark(TIMES[3], HOSTILE)]
    drawings = [
        line_chart(TIMES, series, title=HOSTILE, unit=HOSTILE, marks=marks),
        bar_chart(TIMES, series, span=timedelta(minutes=1), title=HOSTILE, unit=HOSTILE, marks=marks),
        balance([Part(HOSTILE, "ok", 3)], title=HOSTILE),
        strip([Moment(TIMES[0], "ok", HOSTILE), Moment(TIMES[3], "bad", HOSTILE)], title=HOSTILE),
        sparkline([1.0, 2.0], title=HOSTILE),
    ]
    for drawn in drawings:
        tags = {each.tag for each in ET.fromstring(drawn).iter()}
        assert tags <= {"div", "svg", "g", "line", "text", "polyline", "polygon", "rect", "circle", "title"}
