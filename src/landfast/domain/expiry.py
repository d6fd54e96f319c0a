"""How long a ledger keeps what it wrote, and how far a walk through it has come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from landfast.domain.retention import DAY_SECONDS

CLOCKS_DIFFER_SECONDS = DAY_SECONDS
"""By so much the clocks of inbox and ledger may differ: a receipt is taken to be that much younger than it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerAges:
    """In seconds. A receipt must outlive its event's identity, or a late delivery would run a second time."""

    receipts: float
    """From its COMMIT. One whose event lives in its inbox is kept, whatever its age. Infinite, if none ever goes. What
    is known of a lane goes after the same time."""
    done_effects: float = 35 * DAY_SECONDS
    """From when it was performed."""
    dead_effects: float = 365 * DAY_SECONDS
    """From when it was given up."""


class Place(NamedTuple):
    """Where a walk goes on: only the driver that made it knows what it says."""

    table: str
    after: bytes | int | str


@dataclass(frozen=True, slots=True)
class Expired:
    """What one step deleted."""

    receipts: int = 0
    effects: int = 0
    lanes: int = 0
    """Marks, states and arrivals."""
    rest: Place | None = None
    """Where the next step goes on; None at the end of the walk."""

    def __add__(self, later: Expired) -> Expired:
        return Expired(
            self.receipts + later.receipts, self.effects + later.effects, self.lanes + later.lanes, later.rest
        )
