"""Stacked bars over time: what failed in each span, by error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from html import escape

from landfast.admin.charts.lines import (
    BOTTOM,
    LEFT,
    NARROW,
    RIGHT,
    TOP,
    WIDE,
    Mark,
    Series,
    Size,
)
from landfast.admin.charts.scale import amount, round_up, ticks, time_label, time_ticks


def bar_chart(
    times: Sequence[datetime],
    series: Sequence[Series],
    *,
    span: timedelta,
    title: str,
    unit: str = "",
    marks: Sequence[Mark] = (),
) -> str:
    """A bar for each time, which begins a span; the first series stands at the ground."""
    if not times:
        return ""
    sums = [sum(one.values[place] or 0.0 for one in series) for place in range(len(times))]
    end, step = round_up(max(sums))
    told = escape(f"{title}. {_told(series)}")
    drawn = []
    for size in (WIDE, NARROW):
        parts = [
            *_grid(size, end, step, unit),
            *_bars(size, times, series, end, span),
            *_times(size, times, span),
            *_marks(size, times, span, marks),
        ]
        head = f'<svg class="{size.name}" viewBox="0 0 {size.width} {size.height}" role="img" aria-label="{told}">'
        drawn.append("".join([head, *parts, "</svg>"]))
    return f'<div class="chart">{"".join(drawn)}</div>'


def _x(size: Size, times: Sequence[datetime], span: timedelta, moment: datetime) -> float:
    whole = (times[-1] + span - times[0]).total_seconds()
    return round(LEFT + (moment - times[0]).total_seconds() / whole * (size.width - LEFT - RIGHT), 1)


def _grid(size: Size, end: float, step: float, unit: str) -> Iterator[str]:
    high = size.height - TOP - BOTTOM
    for value in ticks(end, step):
        y = round(TOP + high * (1 - value / end), 1)
        kind = "grid zero" if value == 0 else "grid"
        yield f'<line class="{kind}" x1="{LEFT}" y1="{y}" x2="{size.width - RIGHT}" y2="{y}"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(amount(value))}</text>'
    if unit:
        yield f'<text x="{LEFT}" y="{TOP - 6}">{escape(unit)}</text>'


def _bars(
    size: Size, times: Sequence[datetime], series: Sequence[Series], end: float, span: timedelta
) -> Iterator[str]:
    high, ground = size.height - TOP - BOTTOM, size.height - BOTTOM
    for place, moment in enumerate(times):
        x, y = _x(size, times, span, moment), float(ground)
        wide = max(1.0, _x(size, times, span, moment + span) - x - 1)
        for one in series:
            value = one.values[place] or 0.0
            if value:
                tall = high * value / end
                y -= tall
                told = escape(f"{moment:%d %b %H:%M} UTC: {one.name} {amount(value)}")
                where = f'x="{x}" y="{y:.1f}" width="{wide:.1f}" height="{max(tall, 0.6):.1f}"'
                yield f'<rect class="fill {one.hue}" {where}><title>{told}</title></rect>'


def _times(size: Size, times: Sequence[datetime], span: timedelta) -> Iterator[str]:
    shown = time_ticks(times[0], times[-1] + span, at_most=size.time_labels)
    for moment in shown:
        x = _x(size, times, span, moment)
        anchor = "start" if x < LEFT + 16 else "end" if x > size.width - 24 else "middle"
        yield f'<text x="{x}" y="{size.height - 6}" text-anchor="{anchor}">{time_label(moment, shown)}</text>'


def _marks(size: Size, times: Sequence[datetime], span: timedelta, marks: Sequence[Mark]) -> Iterator[str]:
    for mark in marks:
        if times[0] <= mark.at <= times[-1] + span:
            x = _x(size, times, span, mark.at)
            yield (
                f'<line class="mark {mark.tone}" x1="{x}" y1="{TOP}" x2="{x}" y2="{size.height - BOTTOM}">'
                f"<title>{escape(f'{mark.at:%d %b %H:%M} UTC: {mark.label}')}</title></line>"
            )


def _told(series: Sequence[Series]) -> str:
    sums = [f"{one.name} {amount(sum(value or 0.0 for value in one.values))}" for one in series]
    return ", ".join(sums) or "nothing"
