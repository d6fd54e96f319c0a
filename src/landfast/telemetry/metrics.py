"""What this process counts: every metric of `/metrics` that no database has to be asked for, by its name.

A count is one addition to a number in this process's page (`landfast.telemetry.pages`). As of the log, there is one in
a process, whoever runs in it.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from time import perf_counter, time

from landfast.telemetry.pages import Page, new_page

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Bounds for what senders and handlers wait for: from a commit on a fast disk to a handler's deadline."""

LOOKUP_SECONDS = (1e-6, 2.5e-6, 5e-6, 1e-5, 1e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.5)
"""Bounds for a question whether something is known: memory answers in a microsecond, a database in some thousands."""

now = perf_counter
"""For how long something takes. The injected clock stands still in tests, and this is about real time."""


FAMILIES: dict[str, Family] = {}
"""Every metric that a process counts, by name."""


class Merge(Enum):
    """What several processes come to."""

    SUM = "sum"
    """Also those that have ended."""
    SUM_OF_LIVING = "sum of living"
    LARGEST = "largest"
    LARGEST_OF_LIVING = "largest of living"


class Family:
    """All numbers of one name, which differ in their labels."""

    kind = "counter"
    slots = 1

    def __init__(self, name: str, says: str, labels: str = "", merge: Merge = Merge.SUM) -> None:
        self.name = name
        self.says = says
        self.labels = tuple(labels.split())
        self.merge = merge
        self._at: dict[tuple[str, ...], int] = {}
        FAMILIES[name] = self

    def slot(self, labels: tuple[str, ...]) -> int:
        """Where these labels are counted. What there is no room for is counted under no name."""
        slot = self._at.get(labels)
        if slot is None:
            slot = self._at[labels] = _Own.page.name(self.name, labels, self.slots)
        return slot

    def forget(self) -> None:
        """Another page is counted in from now on."""
        self._at.clear()


class Counter(Family):
    def add(self, *labels: str, by: float = 1.0) -> None:
        _Own.values[self.slot(labels)] += by


class Gauge(Family):
    kind = "gauge"

    def set(self, value: float, *labels: str) -> None:
        _Own.values[self.slot(labels)] = value


class Histogram(Family):
    kind = "histogram"

    def __init__(self, name: str, says: str, labels: str = "", bounds: tuple[float, ...] = SECONDS) -> None:
        super().__init__(name, says, labels)
        self.bounds = bounds
        self.slots = len(bounds) + 2
        """One for each bound, one for what is beyond the last, and one for the sum."""

    def observe(self, seconds: float, *labels: str, times: int = 1) -> None:
        slot, values, bounds = self.slot(labels), _Own.values, self.bounds
        values[slot + bisect_left(bounds, seconds)] += times
        values[slot + len(bounds) + 1] += seconds * times


_PLACES: dict[tuple[str, str, str, str], tuple[int, int, int, int]] = {}
"""Where `counted` counts each meter with its source, handler and detail."""


class _Own:
    """The page of this process, and its numbers."""

    page: Page = new_page()
    values = page.values
    pid = os.getpid()
    next_page: Callable[[], Page] = staticmethod(new_page)
    """Where a process counts that this one forks."""


def page() -> Page:
    return _Own.page


def use(other: Page, *, after_fork: Callable[[], Page] = new_page) -> None:
    """Count in this page from now on; what was counted before stays where it is. A process that this one forks counts
    in what `after_fork` makes."""
    _Own.page, _Own.values = other, other.values
    _Own.pid, _Own.next_page = os.getpid(), staticmethod(after_fork)
    _PLACES.clear()
    for family in FAMILIES.values():
        family.forget()


def be_alone() -> None:
    """Two processes must never write to one page. Python calls this after a fork. uWSGI forks without Python, and so
    does whoever opens an inbox, or asks for its numbers."""
    if _Own.pid != os.getpid():
        use(_Own.next_page(), after_fork=_Own.next_page)


_REFRESHERS: list[Callable[[], None]] = []


@contextmanager
def refreshed_by(update: Callable[[], None]) -> Iterator[None]:
    """Within the block, `update` sets gauges that nobody keeps up to date as things happen."""
    _REFRESHERS.append(update)
    try:
        yield
    finally:
        _REFRESHERS.remove(update)


def refresh() -> None:
    """Called before this process's numbers are read, or once a second where another process reads them."""
    be_alone()
    for update in _REFRESHERS:
        update()


os.register_at_fork(after_in_child=be_alone)


DELIVERIES = Counter(
    "landfast_deliveries_total",
    "Deliveries by what their senders were told: stored, duplicate or rejected.",
    "source result",
)
DEDUP_HITS = Counter(
    "landfast_dedup_hits_total",
    "Deliveries that were known already, by who knew: memory, shared (the cache) or inbox.",
    "layer",
)
DEDUP_MISSES = Counter(
    "landfast_dedup_misses_total", "Deliveries that a layer was asked about and did not know.", "layer"
)
ACK = Histogram("landfast_ack_seconds", "From a whole request to the answer that its events are stored.")
LOOKUP = Histogram(
    "landfast_dedup_lookup_seconds",
    "How long a layer took to say whether deliveries are known. Of memory, one look in 16 is timed; the inbox records"
    " the new ones in the same statement.",
    "layer",
    LOOKUP_SECONDS,
)
ATTEMPTS = Counter(
    "landfast_attempts_total",
    "Runs of handlers by outcome: done or failed.",
    "source handler outcome",
)
HANDLER = Histogram("landfast_handler_seconds", "How long handlers ran that were done.", "handler")
NOT_RUN = Counter(
    "landfast_not_run_total",
    "Events for which a handler was not called: superseded by a newer one, or parked until its lifecycle allows it.",
    "source handler why",
)
DEAD_LETTERS = Counter("landfast_dead_letters_total", "Events that became dead letters.", "source reason")
EFFECTS = Counter(
    "landfast_effects_total",
    "Effects by outcome: done, retry, dead, or postpone where this worker does not know it.",
    "name outcome",
)
SPOOL = Gauge("landfast_spool_records", "Requests in the spool that wait for the inbox.", merge=Merge.SUM_OF_LIVING)
JOURNAL = Gauge(
    "landfast_journal_backlog",
    "Messages in the journal that wait for the inbox, as the drainers see it.",
    merge=Merge.LARGEST_OF_LIVING,
)
LAST_SEEN = Gauge(
    "landfast_source_last_seen_timestamp_seconds",
    "When the last delivery of a source was accepted, in Unix seconds.",
    "source",
    Merge.LARGEST,
)


PLACES_AT_MOST = 10_000
"""Remembered: a detail may be the name of a user's error."""

_NOWHERE = 0


def counted(meter: str, source: str, handler: str, detail: str, count: int, seconds: float | None) -> None:
    """Called where rates are counted (`landfast.domain.metering`), so that each fact has one place in the code. Every
    delivery and every run of a handler passes here: it looks up where to add, and adds."""
    key = (meter, source, handler, detail)
    one, other, at, times = _PLACES.get(key) or _place(key)
    values = _Own.values
    values[one] += count
    values[other] += count
    values[at] = time()
    if seconds is not None:
        values[times + bisect_left(SECONDS, seconds)] += count
        values[times + len(SECONDS) + 1] += seconds * count


def _place(key: tuple[str, str, str, str]) -> tuple[int, int, int, int]:
    """Two counters, the time of the last one, and a histogram; nowhere where a meter has none of these."""
    meter, source, handler, detail = key
    one = other = at = times = _NOWHERE
    if meter in ("stored", "duplicate", "rejected"):
        one = DELIVERIES.slot((source, meter))
        at = _NOWHERE if meter == "rejected" else LAST_SEEN.slot((source,))
        other = DEDUP_HITS.slot((detail,)) if meter == "duplicate" else _NOWHERE
        times = ACK.slot(()) if meter == "stored" else _NOWHERE
    elif meter in ("done", "failed"):
        one = ATTEMPTS.slot((source, handler, meter))
        times = HANDLER.slot((handler,)) if meter == "done" else _NOWHERE
    if len(_PLACES) >= PLACES_AT_MOST:
        _PLACES.clear()
    _PLACES[key] = one, other, at, times
    return _PLACES[key]
