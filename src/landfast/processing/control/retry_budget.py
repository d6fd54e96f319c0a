"""A retry budget per handler, so that the end of an outage is no herd of our own making."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class RetryBudget:
    """Retries leave at no more than `rate` a second, after a first `burst`: the rest are spread over the time after."""

    rate: float = 50.0
    """Retries a second and worker: a struggling dependency gets a twentieth of what one worker could throw at it."""
    burst: int = 100
    """A hiccup's worth of failures retries by its own backoff alone."""
    _slot: float = float("-inf")

    def delay(self, wanted: float, *, now: float) -> float:
        """When a retry that wants to start `wanted` seconds from now may start, in seconds from now."""
        self._slot = max(self._slot, now - self.burst / self.rate) + 1 / self.rate
        return max(wanted, self._slot - now)
