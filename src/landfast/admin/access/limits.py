"""How often somebody may ask: a bucket for each of them, filled at a steady rate."""

from __future__ import annotations

from collections import OrderedDict

from landfast.admin.problems import AdminError
from landfast.ports.clock import Clock

REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 50.0, 200.0
"""Of one token: a page asks some questions at once, and a dashboard one each second or two."""

ATTEMPTS_PER_SECOND, ATTEMPTS_AT_ONCE = 1 / 6, 10.0
"""Of one address, with a token that is not valid: ten a minute are mistakes. Nobody guesses one anyway."""

VISITS_PER_SECOND, VISITS_AT_ONCE = 1.0, 30.0
"""Of one address, which a proxy may be, on the way back from an identity provider, each with a state of ours."""

KNOWN_AT_MOST = 10_000
"""Of whom a bucket is kept. Those who have not asked for the longest are forgotten first, and begin anew."""


class TooOftenError(AdminError):
    """Beyond what one token, or one address without one, may ask."""

    status, title = 429, "Too many requests"

    def __init__(self, what: str, seconds: float) -> None:
        super().__init__(f"{what}; come again in {max(1, round(seconds))} s")
        self._seconds = seconds

    def headers(self) -> dict[str, str]:
        return {"retry-after": str(max(1, round(self._seconds)))}


class Buckets:
    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._full: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """How full each was, and when."""

    def take(self, name: str) -> float:
        """One out of it; how many seconds to wait where there was none left."""
        now = self._clock.monotonic()
        before, at = self._full.pop(name, (self._burst, now))
        level = min(self._burst, before + (now - at) * self._rate)
        is_there = level >= 1
        self._full[name] = (level - 1 if is_there else level), now
        if len(self._full) > KNOWN_AT_MOST:
            self._full.popitem(last=False)
        return 0.0 if is_there else (1 - level) / self._rate
