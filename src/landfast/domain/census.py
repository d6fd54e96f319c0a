"""What the inbox and the ledger count, and the equations that must hold between the counts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from landfast.domain.ids import BootId, EventId, InboxId
from landfast.domain.lifecycle import State

GAUGES = frozenset({"spool_records", "spool_bytes", "journal_backlog", "seen_shared_foreign"})
"""Meters that say how much there is now. They count for boots that are running; all others are totals, and add up."""

ADOPTED_FROM = "spool_adopted:"
"""What a meter's name begins with that names a dead boot: who reports it has taken over all of that boot's spool."""

LARGEST = frozenset({"journal_backlog", "largest_request"})
"""Meters of which the largest counts: all drainers look at one journal, and no request brought more events."""


@dataclass(frozen=True, slots=True)
class SourceTally:
    """What senders of one source were told by one boot of one intake process: `received` counted on arrival, the rest
    on answer."""

    received: int = 0
    stored: int = 0
    duplicate: int = 0
    rejected: int = 0
    elsewhere: int = 0
    """Of `stored`, events that are durable in a spool or broker, and come into the inbox later."""
    requests_elsewhere: int = 0
    """The requests that brought those: a spool and a broker count what they hold in requests."""

    def __add__(self, other: SourceTally) -> SourceTally:
        return SourceTally(
            self.received + other.received,
            self.stored + other.stored,
            self.duplicate + other.duplicate,
            self.rejected + other.rejected,
            self.elsewhere + other.elsewhere,
            self.requests_elsewhere + other.requests_elsewhere,
        )

    @property
    def unanswered(self) -> int:
        return self.received - self.stored - self.duplicate - self.rejected


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
class StoredCount:
    """What was counted in the very transactions that stored it: exact, whatever crashed."""

    recorded: int = 0
    """Events that an intake recorded and answered for."""
    drained: int = 0
    """Events that came out of a spool or broker."""
    deliveries_drained: int = 0
    """Deliveries that came out of a spool or broker, also those whose events were known."""
    again: int = 0
    """Deliveries that came out of a spool or broker and were here already, by that very delivery."""

    @property
    def events(self) -> int:
        return self.recorded + self.drained

    def __add__(self, other: StoredCount) -> StoredCount:
        return StoredCount(
            self.recorded + other.recorded,
            self.drained + other.drained,
            self.deliveries_drained + other.deliveries_drained,
            self.again + other.again,
        )


@dataclass(frozen=True, slots=True)
class BootCount:
    """One boot of an intake or a drainer that has not been folded into the totals yet."""

    boot: BootId
    stored: StoredCount = StoredCount()
    told: Mapping[str, SourceTally] = field(default_factory=dict)
    """By source. Empty for a boot that never reported: it never told anybody anything that we know of."""
    is_running: bool = False
    is_ended: bool = False
    """It said goodbye."""
    owes: bool = True
    """False for a boot of an earlier Landfast, which did not count what it stored."""
    waiting: int = 0
    """Requests in its spool, by its last report."""

    @property
    def total(self) -> SourceTally:
        return sum(self.told.values(), SourceTally())

    @property
    def missing(self) -> int:
        """Events that it told senders were in the inbox, and that it never stored there."""
        return max(0, self._told_here - self.stored.recorded) if self.owes else 0

    @property
    def untold(self) -> int:
        """Events that it stored, and told nobody of: it crashed, or the answer to its COMMIT did not come."""
        return self._surplus - self.told_elsewhere

    @property
    def told_elsewhere(self) -> int:
        """Of those, as many as it may have told of all the same: an inbox that did not answer in time had committed,
        and the batch went to the spool besides."""
        return min(self._surplus, self.total.elsewhere)

    @property
    def _surplus(self) -> int:
        return max(0, self.stored.recorded - self._told_here) if self.owes else 0

    @property
    def _told_here(self) -> int:
        return self.total.stored - self.total.elsewhere


@dataclass(frozen=True, slots=True)
class Census:
    inbox: InboxId
    events: int
    """Everything ever stored, by the counters that `record` keeps."""
    states: Mapping[State, int]
    tallies: Mapping[str, SourceTally] = field(default_factory=dict)
    """By source, over all boots."""
    running_boots: int = 0
    unclean_boots: int = 0
    oldest_ready: datetime | None = None
    meters: Mapping[str, int] = field(default_factory=dict)
    boots: tuple[BootCount, ...] = ()
    stored: StoredCount = StoredCount()
    """Over all boots."""
    at: datetime | None = None
    heard_since: datetime | None = None
    """When the running boot reported that has been silent for the longest; None where none runs."""
    expired: Mapping[State, int] = field(default_factory=dict)
    """Events that were removed because they were old enough, by the state that they were in."""

    @property
    def here(self) -> int:
        """Of `events`, those that are still known."""
        return self.events - sum(self.expired.values())

    @property
    def told_elsewhere(self) -> int:
        """Events that an intake stored, and told of in a spool besides. The drainer finds each of them here again: what
        a boot stored in a last second that it never reported is not found so, and excuses nothing."""
        return min(self.stored.again, sum(boot.told_elsewhere for boot in self.boots))


TOLD = ("received", "stored", "duplicate", "rejected", "elsewhere", "requests_elsewhere")
"""The columns of a tally, and the names of its totals, in the order of SourceTally."""

COUNTED = ("recorded", "drained", "deliveries_drained", "again")
"""The names of the totals of what was stored, in the order of StoredCount."""


METER = "meter:"
"""What the total is called of a meter of boots that are forgotten, before its name."""

EXPIRED = "expired:"
"""What the total of events is called that were removed, before the state that they were in."""


class Folded:
    """The totals that boots leave behind, and what counts removed events: rows of name, source and value."""

    def __init__(self, rows: Iterable[tuple[str, str, int]]) -> None:
        self.tallies: dict[str, SourceTally] = {}
        self.stored = StoredCount()
        self.done = 0
        self.expired: dict[State, int] = {}
        self._meters: dict[str, int] = {}
        by_source: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for name, source, value in rows:
            if name == "done":
                self.done += value
            elif name.startswith(EXPIRED):
                state = State(name.removeprefix(EXPIRED))
                self.expired[state] = self.expired.get(state, 0) + value
            elif name.startswith(METER):
                self._meters[name.removeprefix(METER)] = value
            elif name in COUNTED:
                self.stored += StoredCount(**{name: value})
            else:
                by_source[source][name.removeprefix("told:")] = value
        self.tallies = {source: SourceTally(**told) for source, told in by_source.items()}

    def with_meters(self, known: Mapping[str, int]) -> dict[str, int]:
        """These of boots that are known, and those of boots that are forgotten."""
        found = {**self._meters, **known}
        for name in self._meters.keys() & known.keys():
            both = self._meters[name], known[name]
            found[name] = max(both) if name in LARGEST else sum(both)
        return found


def tallies_of(boots: Iterable[BootCount], folded: Folded) -> dict[str, SourceTally]:
    """By source, over all boots that there ever were."""
    tallies = dict(folded.tallies)
    for boot in boots:
        for source, told in boot.told.items():
            tallies[source] = tallies.get(source, SourceTally()) + told
    return tallies
