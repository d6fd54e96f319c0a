"""Round numbers for axes, and where a value stands between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from landfast.domain.rates import LATENCY_BOUNDS_SECONDS

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""What an axis may count in, times a power of ten: people divide by these in their heads."""

TIME_STEPS_MINUTES = (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080)
"""Between two labels of a time axis."""


def round_up(value: float) -> tuple[float, float]:
    """The end of an axis that reaches this value, and the step between its lines: two to five lines in all."""
    if value <= 0 or not math.isfinite(value):
        return 1.0, 1.0
    rough = value / 4
    power: float = 10.0 ** math.floor(math.log10(rough))
    step = next(each * power for each in STEPS if each * power >= rough * 0.999)
    return math.ceil(value / step - 1e-9) * step, step


def ticks(end: float, step: float) -> list[float]:
    return [step * number for number in range(round(end / step) + 1)]


def time_ticks(first: datetime, last: datetime, *, at_most: int) -> list[datetime]:
    """Full minutes, hours or days, in UTC, between the two."""
    minutes = max(1.0, (last - first).total_seconds() / 60)
    step = next((each for each in TIME_STEPS_MINUTES if minutes / each <= at_most), TIME_STEPS_MINUTES[-1])
    begin = first.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    passed = math.ceil((first - begin).total_seconds() / 60 / step)
    moment, found = begin + timedelta(minutes=passed * step), []
    while moment <= last:
        found.append(moment)
        moment += timedelta(minutes=step)
    return found


def time_label(moment: datetime, step_from: Sequence[datetime]) -> str:
    """The hour; the day where a day begins, or where every label is of another day."""
    is_daily = len(step_from) > 1 and step_from[1] - step_from[0] >= timedelta(days=1)
    return f"{moment:%d %b}" if is_daily or moment.hour == moment.minute == 0 else f"{moment:%H:%M}"


def amount(value: float) -> str:
    """1,200 and 12.5 k and 3 M: short, because it stands at an axis."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            return f"{value / (1e3 if letter == ' k' else size):.3g}{letter}"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.3g}"


def seconds(value: float) -> str:
    if value == 0:
        return "0"
    if math.isinf(value):
        return f"over {LATENCY_BOUNDS_SECONDS[-1]:g} s"
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"
