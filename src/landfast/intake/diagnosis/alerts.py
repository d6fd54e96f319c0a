"""Alerts: what somebody should look at, told at most once a second for each source, with how many more there were."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from landfast import telemetry
from landfast.ports.clock import Clock

ALERT_LINE_SECONDS = 1.0
"""Between two lines about the same thing at the same source: a flood of them is one thing to look at, not thousands."""


class Alerts:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told: dict[tuple[str, str], tuple[float, int]] = {}

    def warn(self, what: str, source: str, **facts: Any) -> None:
        self._tell(telemetry.warn, what, source, facts)

    def error(self, what: str, source: str, **facts: Any) -> None:
        self._tell(telemetry.error, what, source, facts)

    def _tell(self, tell: Callable[..., None], what: str, source: str, facts: dict[str, Any]) -> None:
        now = self._clock.monotonic()
        last, others = self._told.get((what, source), (-math.inf, 0))
        if now - last < ALERT_LINE_SECONDS:
            self._told[what, source] = (last, others + 1)
            return
        self._told[what, source] = (now, 0)
        tell(what, source=source, **facts, **({"others": others} if others else {}))
