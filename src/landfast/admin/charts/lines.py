"""Curves over time, with axes, units and marks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape

from landfast.admin.charts.scale import amount, round_up, ticks, time_label, time_ticks


@dataclass(frozen=True, slots=True)
class Series:
    name: str
    hue: str
    """A class of the style sheet: hue-1 to hue-6, or ink."""
    values: Sequence[float | None]
    """One for each time; None where nothing is known, which is not nought."""
    is_filled: bool = False


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened at a time: a start of new code, an alert."""

    at: datetime
    label: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Size:
    name: str
    width: int
    height: int
    time_labels: int


WIDE, NARROW = Size("wide", 1120, 200, 9), Size("narrow", 400, 180, 4)
"""A text in a drawing that is shrunk to a phone cannot be read, so there are two, and the style sheet shows one."""

LEFT, RIGHT, TOP, BOTTOM = 56, 14, 16, 22
"""Pixels around the curves, for the labels."""

MARKS_AT_MOST = 12
"""More lines than that hide the curves: the newest are drawn."""

GROUND_STEPS = 240
"""Columns that answer a pointer, at most."""


@dataclass(frozen=True, slots=True)
class _Plot:
    size: Size
    times: Sequence[datetime]
    end: float

    def x(self, moment: datetime) -> float:
        span = (self.times[-1] - self.times[0]).total_seconds() or 1.0
        passed = (moment - self.times[0]).total_seconds() / span
        return round(LEFT + passed * (self.size.width - LEFT - RIGHT), 1)

    def y(self, value: float) -> float:
        high = self.size.height - TOP - BOTTOM
        return round(TOP + high * (1 - min(value, self.end) / self.end), 1)

    @property
    def ground(self) -> int:
        return self.size.height - BOTTOM


def line_chart(
    times: Sequence[datetime],
    series: Sequence[Series],
    *,
    title: str,
    unit: str = "",
    label: Callable[[float], str] = amount,
    marks: Sequence[Mark] = (),
    beyond: float = 0.0,
) -> str:
    """Empty where there are no times: whoever calls says in words why. Infinite are values of which one knows no more
    than that they are `beyond` this one."""
    if not times:
        return ""
    known = (value for one in series for value in one.values if value is not None)
    top = max((value if math.isfinite(value) else beyond for value in known), default=0.0)
    end, step = round_up(top)
    drawn = []
    for size in (WIDE, NARROW):
        plot = _Plot(size, times, end)
        parts = [
            *_grid(plot, step, label, unit),
            *_times(plot),
            *_marks(plot, marks),
            *(part for one in series for part in _curve(plot, one)),
            *_answers(plot, series, label, unit),
        ]
        told = escape(_told(title, series, label, unit))
        head = f'<svg class="{size.name}" viewBox="0 0 {size.width} {size.height}" role="img" aria-label="{told}">'
        drawn.append("".join([head, *parts, "</svg>"]))
    return f'<div class="chart">{"".join(drawn)}</div>'


def _grid(plot: _Plot, step: float, label: Callable[[float], str], unit: str) -> Iterator[str]:
    for value in ticks(plot.end, step):
        y = plot.y(value)
        kind = "grid zero" if value == 0 else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" y1="{y}" x2="{plot.size.width - RIGHT}" y2="{y}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(label(value))}</text>'
    if unit:
        yield f'<text x="{LEFT}" y="{TOP - 6}">{escape(unit)}</text>'


def _times(plot: _Plot) -> Iterator[str]:
    shown = time_ticks(plot.times[0], plot.times[-1], at_most=plot.size.time_labels)
    for moment in shown:
        x = plot.x(moment)
        anchor = "start" if x < LEFT + 16 else "end" if x > plot.size.width - 24 else "middle"
        text = time_label(moment, shown)
        yield f'<text x="{x}" y="{plot.size.height - 6}" text-anchor="{anchor}">{text}</text>'


def _marks(plot: _Plot, marks: Sequence[Mark]) -> Iterator[str]:
    inside = [mark for mark in marks if plot.times[0] <= mark.at <= plot.times[-1]]
    taken = -1.0
    for mark in inside[-MARKS_AT_MOST:]:
        x = plot.x(mark.at)
        yield f'<line class="mark {mark.tone}" x1="{x}" y1="{TOP}" x2="{x}" y2="{plot.ground}"/>'
        wide = 6.2 * len(mark.label)
        is_left = x + wide > plot.size.width - RIGHT
        begin = x - wide if is_left else x
        if begin > taken:  # a label over another can be read by nobody; the pointer still tells it
            anchor, at = ("end", x - 4) if is_left else ("start", x + 4)
            yield f'<text x="{at}" y="{TOP + 8}" text-anchor="{anchor}">{escape(mark.label)}</text>'
            taken = begin + wide


def _curve(plot: _Plot, one: Series) -> Iterator[str]:
    for run in _runs(plot, one.values):
        points = " ".join(f"{x},{y}" for x, y in run)
        if one.is_filled:
            base = f"{run[-1][0]},{plot.ground} {run[0][0]},{plot.ground}"
            yield f'<polygon class="area fill {one.hue}" points="{points} {base}"/>'
        yield f'<polyline class="curve {one.hue}" points="{points}"/>'


def _runs(plot: _Plot, values: Sequence[float | None]) -> Iterator[list[tuple[float, float]]]:
    """What is known without a gap. A curve over a gap would claim to know."""
    run: list[tuple[float, float]] = []
    for moment, value in zip(plot.times, values, strict=True):
        if value is None:
            if run:
                yield run
            run = []
        else:
            run.append((plot.x(moment), plot.y(value)))
    if run:
        yield run


def _answers(plot: _Plot, series: Sequence[Series], label: Callable[[float], str], unit: str) -> Iterator[str]:
    """A column for each time, which tells its numbers to a pointer; without a script."""
    if not 1 < len(plot.times) <= GROUND_STEPS:
        return
    wide = (plot.size.width - LEFT - RIGHT) / (len(plot.times) - 1)
    for place, moment in enumerate(plot.times):
        words = [
            f"{one.name} {label(value)}" if (value := one.values[place]) is not None else f"{one.name}: not known"
            for one in series
        ]
        told = escape(f"{moment:%d %b %H:%M} UTC: {', '.join(words)} {unit}".rstrip())
        x = max(LEFT, plot.x(moment) - wide / 2)
        high = plot.ground - TOP
        yield (
            f'<rect class="hover" x="{x:.1f}" y="{TOP}" width="{wide:.1f}" height="{high}"><title>{told}</title></rect>'
        )


def _told(title: str, series: Sequence[Series], label: Callable[[float], str], unit: str) -> str:
    """The drawing in a sentence, for whoever cannot see it."""
    words = []
    for one in series:
        known = [value for value in one.values if value is not None]
        if known:
            words.append(f"{one.name}: now {label(known[-1])}, at most {label(max(known))}")
    return f"{title}{f' ({unit})' if unit else ''}. {'; '.join(words) or 'nothing is known'}"


def sparkline(values: Sequence[float | None], *, title: str, hue: str = "hue-1") -> str:
    """A curve as small as a word. Its height is its own: two of them are not to be compared."""
    width, height = 96, 24
    known = [value for value in values if value is not None]
    top = max(known, default=0.0) or 1.0
    step = (width - 4) / max(1, len(values) - 1)
    points = " ".join(
        f"{2 + place * step:.1f},{height - 3 - (height - 6) * value / top:.1f}"
        for place, value in enumerate(values)
        if value is not None
    )
    head = f'<svg class="spark" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    return f'{head}<title>{escape(title)}</title><polyline class="curve {escape(hue)}" points="{points}"/></svg>'
