"""Whether a source that was well takes nothing in any more: a wrong secret was deployed a minute ago, say.

Over a window of ten minutes, a minute of refusals is lost beside nine of thousands that were taken in. So what counts
is what came since the last minute in which anything was taken in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

MINUTE = timedelta(minutes=1)

MISSED_AT_LEAST = 7
"""Requests that should have been taken in since then, going by the minutes before: by chance alone none is once in a
thousand times, and somebody who only tries our address sends a handful meanwhile."""

BEFORE_MINUTES = 10
"""That say how many there should have been."""


class Flow(NamedTuple):
    """Of one source in one minute."""

    accepted: int = 0
    refused: int = 0


@dataclass(frozen=True, slots=True)
class RefusedSince:
    since: datetime
    count: int


def refused_since(flows: Mapping[datetime, Flow], now: datetime, *, at_least: int) -> RefusedSince | None:
    """What was refused since anything was taken in last, if that is all of what came and enough to tell; None
    otherwise, and where nothing was taken in at all in these minutes."""
    accepting = [minute for minute, flow in flows.items() if flow.accepted]
    if not accepting:
        return None
    since = max(accepting) + MINUTE
    refused = sum(flow.refused for minute, flow in flows.items() if minute >= since)
    before = sum(flow.accepted for minute, flow in flows.items() if minute >= since - BEFORE_MINUTES * MINUTE)
    missed = before / BEFORE_MINUTES * ((now - since) / MINUTE)
    return RefusedSince(since, refused) if refused >= at_least and missed >= MISSED_AT_LEAST else None
