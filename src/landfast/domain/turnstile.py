"""Who may go through to a dependency now, and when the others come back. Pure: the time is an argument.

All workers share one turnstile for each dependency. Those that may not go through are given places in a queue, one
after the other, and come back when their place is reached: so ten thousand that wait ask twice, and not every second.
A place is no right to go through. Whoever comes back asks again, and at the queue's pace most are let through.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

BURST_SECONDS = 0.1
"""Calls of so much time may begin at once, because workers look so often. They are taken off the rate, so that in no
second more begin than it says."""

QUEUE_SECONDS_AT_MOST = 600.0
"""The longest wait until it is asked again: an operator who raises the rate waits no longer for all to notice."""

ROUNDING_SECONDS = 1e-6
"""Seconds of a clock in a float are exact to less than that."""


@dataclass(frozen=True, slots=True)
class Turnstile:
    """In seconds of one clock, the database's."""

    free_at: float = 0.0
    """When the next one may go through, if they came one by one."""
    queue_end: float = 0.0
    """When the last of those that wait comes back."""


@dataclass(frozen=True, slots=True)
class Passage:
    granted: int
    """How many of those that wanted to go through may."""
    waits: tuple[float, ...] = ()
    """Seconds until each of the others comes back."""


def let_through(
    stile: Turnstile, *, now: float, wanted: int, behind: int, rate: float, spacing: float
) -> tuple[Turnstile, Passage]:
    """At `rate` calls a second, how many of `wanted` begin now. The others, and those `behind` them, come back at
    `spacing` a second; unless all were let through: then those behind ask for themselves. Where nobody wants to go
    through now, nothing but the queue changes, whatever the rate of those who only take places."""
    burst, refill = burst_and_refill(rate)
    # Never further away than after a whole burst: the rate may have been raised, or the clock set back.
    free_at = min(max(stile.free_at, now), now + (burst + 1) / refill)
    granted = max(0, min(wanted, floor((now - free_at + ROUNDING_SECONDS) * refill + burst) + 1))
    start = max(stile.queue_end, now)
    if start > now + 2 * QUEUE_SECONDS_AT_MOST:  # the clock was set back
        start = now
    passage = passage_of(granted, start - now, wanted=wanted, behind=behind, spacing=spacing)
    end = now + passage.waits[-1] if passage.waits else stile.queue_end
    return Turnstile(free_at + granted / refill if wanted else stile.free_at, end), passage


def burst_and_refill(rate: float) -> tuple[int, float]:
    """How many may begin at once, besides one; and how many a second then."""
    burst = floor(rate * BURST_SECONDS)
    return burst, rate - burst


def passage_of(granted: int, queue: float, *, wanted: int, behind: int, spacing: float) -> Passage:
    """`queue` is the number of seconds until the end of the queue."""
    if granted == wanted and wanted:
        return Passage(granted)
    places = range(1, wanted - granted + behind + 1)
    return Passage(granted, tuple(min(queue + number / spacing, QUEUE_SECONDS_AT_MOST) for number in places))
