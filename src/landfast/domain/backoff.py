"""When to try again: exponential, fully jittered, capped three ways."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long a failed event waits before its next try: up to `first` seconds, then `factor` times as long each time,
    up to `longest`, until `total` is used up. Each wait is drawn at random from a tenth of that to all of it."""

    first: float = 2.0
    """Seconds before the second try, at most: most hiccups (a failover, a deploy) are over within a few."""
    factor: float = 2.0
    """1 for waits that do not grow."""
    longest: float = 3600.0
    """An hour: a fix deployed on Monday morning is noticed within one coffee."""
    total: float = 72 * 3600.0
    """Three days of trying: a bug deployed on Friday can be fixed on Monday. Outage and breaker time is not counted.
    With the other defaults that is some 140 attempts; from 82, where the jitter is always long, to 731."""

    def delay(self, failures: int, *, fraction: float) -> float:
        """Seconds to wait after the `failures`-th failure; `fraction` in [0, 1) is the jitter drawn for it.

        Full jitter (anywhere from zero to the exponential ceiling) spreads a herd best; a tenth of the ceiling is
        kept as a floor, because an immediate retry after a failure rarely helps.
        """
        return self.ceiling(failures) * (0.1 + 0.9 * fraction)

    def ceiling(self, failures: int) -> float:
        """The longest that `delay` can be after so many failures."""
        return min(self.longest, self.first * self.factor ** max(0, min(failures - 1, 60)))
