"""Which region is the home of a key: by its slot, and the slots by rendezvous hashing where nobody chose.

A fence is a row for each slot in the home's ledger, so slots are few and keys are not. `docs/explanation/regions.md`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from landfast.domain.ids import event_id

SLOTS = 64
"""Of one source: a move takes at least one, so a home can shed a sixty-fourth of its load at a time; and a region reads
as many rows when it starts."""


def slot(source: str, key: str) -> int:
    """From the event's id, a digest that is the same everywhere."""
    return event_id(source, key)[0] % SLOTS


def homes(regions: Sequence[str]) -> tuple[str, ...]:
    """By slot: the region that draws the highest number for it. When a region joins or leaves, the slots of the others
    stay where they are."""
    return tuple(max(regions, key=lambda region: _drawn(region, number)) for number in range(SLOTS))


def _drawn(region: str, number: int) -> bytes:
    return hashlib.sha256(f"{region}\n{number}".encode()).digest()
