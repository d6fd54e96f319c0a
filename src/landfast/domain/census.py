"""What the inbox and the ledger count, and the equations that must hold between the counts (R61)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.ids import BootId, EventId, InboxId
from landfast.domain.lifecycle import State

GAUGES = frozenset({"spool_records", "spool_bytes", "journal_backlog"})
"""Meters that say how much there is now. They count for boots that are running; all others are totals, and add up."""


@dataclass(frozen=True, slots=True)
class SourceTally:
    """Deliveries of one source in one boot of one intake process: `received` counted on arrival, the rest on answer."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0

    def __add__(self, other: SourceTally) -> SourceTally:
        return SourceTally(
            self.received + other.received,
            self.stored + other.stored,
            self.duplicate + other.duplicate,
            self.rejected + other.rejected,
        )


@dataclass(frozen=True, slots=True)
class TallyReport:
    """What an intake process flushes every second: totals since boot (not increments, so a lost answer cannot double
    them), and how often each known event came again since the last report that arrived."""

    boot: BootId
    sources: Mapping[str, SourceTally]
    redelivered: Mapping[EventId, int]
    ended: bool = False
    """The last report of an orderly stop. A boot without one is unclean: up to a second of counts is missing."""
    meters: Mapping[str, int] = field(default_factory=dict)
    """What else this boot counts, as totals since it began: hits of each cache, records in its spool."""


@dataclass(frozen=True, slots=True)
class Census:
    inbox: InboxId
    events: int
    """Rows in the identity table: everything ever stored and not yet forgotten."""
    states: Mapping[State, int]
    tallies: Mapping[str, SourceTally] = field(default_factory=dict)
    """By source, over all boots."""
    running_boots: int = 0
    unclean_boots: int = 0
    oldest_ready: datetime | None = None
    meters: Mapping[str, int] = field(default_factory=dict)
