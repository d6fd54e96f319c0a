"""Where an event stands in its lane, for `landfast events show`."""

from __future__ import annotations

from typing import Any

from landfast.cli.output import safe, say
from landfast.domain.lane import occurred_micros
from landfast.domain.micros import moment
from landfast.domain.summary import EventSummary, InLane


def lane_fields(lane: InLane | None) -> dict[str, Any]:
    if lane is None:
        return {"lane": None}
    return {"lane": {"place": lane.place.hex(), "behind": lane.behind.hex() if lane.behind else None}}


def say_lane(event: EventSummary, lane: InLane | None) -> None:
    if lane is None:
        return
    at = f"{moment(occurred_micros(lane.place)):%Y-%m-%d %H:%M:%S.%fZ}"
    first = f"behind {lane.behind.hex()}" if lane.behind else "the first that its entity waits for"
    say(f"in the lane of {safe(event.entity or '')} at {at}: {first}")
