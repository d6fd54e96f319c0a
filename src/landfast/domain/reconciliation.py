"""A comparison of what the inbox has with the provider's own list of events, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

RECONCILED = "landfast-reconciled"
"""The header of an event that no delivery brought: it was read from the provider's own list, at this time. It is the
first one of what is stored. A sender's own header of this name is never stored."""

_MARK = b'[["landfast-reconciled",'


def is_reconciled(headers: bytes) -> bool:
    """Whether an event was read from a list; by its stored headers."""
    return headers.startswith(_MARK)


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """Of one source: the newest one, whether or not it is over."""

    source: str
    begun_at: datetime
    since: datetime
    place: str | None
    """The page to go on with; None for the first one."""
    listed: int = 0
    missing: int = 0
    taken: int = 0
    ended_at: datetime | None = None
    """None while it goes on, and where it was interrupted."""
    held_until: datetime | None = None
    """Until then nobody else begins: somebody is at it, or has just failed."""
    error: str = ""
    is_running: bool = False
    compared_until: datetime | None = None
    """Up to where all runs together have compared the source, without a gap; None where no run went back far enough."""
