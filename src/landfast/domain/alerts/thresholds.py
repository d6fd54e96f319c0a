"""From where on a rule speaks. Each default suits an inbox that nobody has configured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    dead_letters: int = 5
    """Of one source in 15 minutes, or twice as many in an hour: one is a bad event, five are a bad deploy."""
    failing_share: float = 0.5
    """Of a handler's attempts in five minutes: when half of them fail, the cause is not in the events."""
    failing_at_least: int = 10
    """Failed attempts in five minutes. Where none succeeds at all, three in 15 minutes are enough."""
    duplicates_at_least: int = 200
    """Duplicates of one source in 15 minutes: below it no sender is in a loop."""
    volume_at_least: int = 100
    """Events in 15 minutes: fewer are never too many."""
    volume_times: float = 4.0
    """So many times the usual is too many, and the usual divided by it too few."""
    silent_seconds: float = 900.0
    """A source that is silent for a shorter time is never silent, however busy it usually is."""
    waiting_seconds: float = 300.0
    """That a new event may wait for its first try: by then somebody may ask where an order is."""
    skew_seconds: float = 30.0
    """Between a machine's clock and the database's: a tenth of what most senders' signatures tolerate."""
    unverified_at_least: int = 300
    """Requests in five minutes that prove nothing, one a second: a scanner sends a handful."""
    refusals_at_least: int = 5
    """Refusals of one source in five minutes, without one acceptance: a wrong secret, not a stray request."""
    alive_seconds: float = 60.0
    """Without a heartbeat, of which there are several in that time."""
    disk_bytes: int = 1024**3
    """Free on a disk that Landfast writes to: half a million events."""


DEFAULTS = Thresholds()
