"""The life of one event as a strip: when it came, when it was tried, and how each try ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from landfast.admin.charts.scale import time_label, time_ticks

SIZES = (("wide", 720, 6), ("narrow", 400, 4))
"""Name, width and labels: on a page it stands beside other things."""

HEIGHT, LEFT, RIGHT, LINE = 64, 16, 16, 24
"""Pixels; LINE is the height on which the points stand."""


@dataclass(frozen=True, slots=True)
class Moment:
    at: datetime
    tone: str
    """A class of the style sheet: ok, warn, bad, held, info or idle."""
    told: str


def strip(moments: Sequence[Moment], *, title: str) -> str:
    """By time, so that a wait is as long as it was. Empty where there is one moment only, which needs no drawing."""
    if len(moments) < 2:
        return ""
    first, last = moments[0].at, moments[-1].at
    told = escape(f"{title}: {'; '.join(f'{one.at:%H:%M:%S} {one.told}' for one in moments[:20])}")
    drawn = []
    for name, width, time_labels in SIZES:
        head = f'<svg class="{name}" viewBox="0 0 {width} {HEIGHT}" role="img" aria-label="{told}">'
        axis = f'<line class="grid zero" x1="{LEFT}" y1="{LINE}" x2="{width - RIGHT}" y2="{LINE}"/>'
        labels = _labels(first, last, width, time_labels)
        drawn.append("".join([head, axis, *labels, *_points(moments, width), "</svg>"]))
    return f'<div class="chart">{"".join(drawn)}</div>'


def _x(moment: datetime, first: datetime, last: datetime, width: int) -> float:
    span = (last - first).total_seconds() or 1.0
    return round(LEFT + (moment - first).total_seconds() / span * (width - LEFT - RIGHT), 1)


def _points(moments: Sequence[Moment], width: int) -> Iterator[str]:
    first, last = moments[0].at, moments[-1].at
    for one in moments:
        x = _x(one.at, first, last, width)
        words = escape(f"{one.at:%d %b %H:%M:%S} UTC: {one.told}")
        yield f'<circle class="fill {one.tone}" cx="{x}" cy="{LINE}" r="5"><title>{words}</title></circle>'


def _labels(first: datetime, last: datetime, width: int, at_most: int) -> Iterator[str]:
    shown = time_ticks(first, last, at_most=at_most)
    if len(shown) < 2:  # within one minute: the two ends say when
        for end, anchor, moment in ((LEFT, "start", first), (width - RIGHT, "end", last)):
            told = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"
            yield f'<text x="{end}" y="{HEIGHT - 12}" text-anchor="{anchor}">{told}</text>'
        return
    for moment in shown:
        x = _x(moment, first, last, width)
        anchor = "start" if x < LEFT + 16 else "end" if x > width - 32 else "middle"
        yield f'<line class="grid" x1="{x}" y1="{LINE}" x2="{x}" y2="{LINE + 8}"/>'
        yield f'<text x="{x}" y="{HEIGHT - 12}" text-anchor="{anchor}">{time_label(moment, shown)}</text>'
