"""Where who waits for an event and who handles it meet, before either commits: the same on every driver.

Both lock the arrival's row first. So the second of the two begins after the COMMIT of the first: it sees that the event
was handled, or it sees who waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from landfast.domain.arrival import Arrived
from landfast.domain.effect import StagedEffect


class Known(NamedTuple):
    """What the ledger knows of an arrival that this transaction has locked."""

    event: str | None
    """The last that was handled."""
    age: float | None
    """Seconds since then."""


class Ended(NamedTuple):
    """An effect that stands for an arrival, and that is done."""

    key: str
    run: int
    result: bytes


def to_lock(effects: Sequence[StagedEffect], arrivals: Sequence[Arrived]) -> dict[str, str | None]:
    """The arrivals to lock, in one order, each with the event that has come, if one has."""
    waits = {each.step.arrival.key: None for each in effects if each.step.arrival is not None}
    return dict(sorted((waits | dict(arrivals)).items()))


def come_already(effects: Sequence[StagedEffect], known: Mapping[str, Known]) -> list[Ended]:
    """Of those that are staged, the ones whose event was handled shortly before."""
    found = []
    for effect in effects:
        if (wait := effect.step.arrival) is not None:
            event, age = known[wait.key]
            if event is not None and age is not None and age <= wait.back:
                found.append(Ended(effect.key, effect.run, came(event)))
    return found


def came(event: str) -> bytes:
    """The result of what stands for an arrival."""
    return msgspec.json.encode({"event": event})
