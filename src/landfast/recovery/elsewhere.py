"""What senders were told is stored while it was in a spool or broker: whether it has come into the inbox, or waits.

What came is exact: it is counted as it is recorded. What waits is known from reports of those who run, in requests;
what lies where nobody runs is out of sight, and not lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from landfast.domain.census import Census, SourceTally


@dataclass(frozen=True, slots=True)
class Elsewhere:
    told: int
    """Events whose senders were told so, as far as it was reported."""
    brought: int
    waiting: int = 0
    """How many of them may be what waits."""
    out_of_sight: int = 0
    """Of those that have not come, how many may lie in a spool whose machine is off, or a broker without a drainer."""
    missing: int = 0
    note: str = ""


def elsewhere(told: Mapping[str, SourceTally], census: Census) -> Elsewhere:
    """`told` may be of an earlier census: what was told then has come by now, or waits now."""
    tally = sum(told.values(), SourceTally())
    absorbed = census.meters.get("spool_absorbed", 0)
    brought = census.stored.deliveries_drained + absorbed + census.told_elsewhere
    requests = census.meters.get("spool_records", 0) + census.meters.get("journal_backlog", 0)
    waiting = min(_events_at_most(requests, tally, census), max(0, tally.elsewhere - brought))
    left = max(0, tally.elsewhere - brought - waiting)
    silent = [boot for boot in census.boots if boot.waiting and not boot.is_running]
    out_of_sight = min(left, _events_at_most(sum(boot.waiting for boot in silent), tally, census))
    notes = [f"boot {boot.boot.hex()}: {boot.waiting:,} in its spool by its last report" for boot in silent]
    published = tally.requests_elsewhere - census.meters.get("spooled", 0)
    if left > out_of_sight and published > 0 and "journal_backlog" not in census.meters:
        notes.append("no drainer runs that could say what the broker holds")
        out_of_sight += min(left - out_of_sight, _events_at_most(published, tally, census))
    return Elsewhere(
        told=tally.elsewhere,
        brought=brought,
        waiting=waiting,
        out_of_sight=out_of_sight,
        missing=left - out_of_sight,
        note="\n".join(notes) if out_of_sight else "",
    )


def _events_at_most(requests: int, tally: SourceTally, census: Census) -> int:
    """A request may bring many events, and how many each one does that waits, nobody says: none more than the largest
    that ever went there, and all of them no more than were told of beyond one for each request."""
    largest = census.meters.get("largest_request", tally.elsewhere)
    return min(requests * largest, requests + max(0, tally.elsewhere - tally.requests_elsewhere))
