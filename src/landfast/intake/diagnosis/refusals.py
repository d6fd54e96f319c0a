"""Refusals: a sample of the requests that were turned away, for `landfast rejected list`.

A stranger decides how many there are and what they say. So there is one row a minute for each source, cause and
address, some for each source, and the rest is counted in a row for all addresses. Of what was sent it holds the path
and the names of the headers, cut: no body, no value, nothing that was not proven.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from landfast.domain.delivery import Head
from landfast.domain.rates import REST, Rejection, minute_of
from landfast.domain.refusal_causes import UNVERIFIED
from landfast.ports.clock import Clock

ROWS_OF_ONE_SOURCE = 10
"""Addresses and causes of one source that have a row of their own in a minute."""

HEADER_NAMES_AT_MOST, HEADER_NAME_CHARACTERS, PATH_CHARACTERS, ADDRESS_CHARACTERS = 40, 60, 200, 60
"""Of one request: a stranger chose them."""

UNSENT_AT_MOST = 500
"""Rows that wait for an inbox that is away."""

Place = tuple[str, str, str]


@dataclass(slots=True)
class _Row:
    at: datetime
    path: str
    status: int
    headers: tuple[str, ...]
    count: int = 0


class Refusals:
    def __init__(self, clock: Clock, address_of: Callable[[Head], str] = lambda head: head.peer) -> None:
        self._clock = clock
        self._address_of = address_of
        self._lock = Lock()  # what was found out about a refusal is noted by the thread that found it
        self._minute: datetime | None = None
        self._rows: dict[Place, _Row] = {}
        self._rows_of: Counter[str] = Counter()
        self._unsent: dict[tuple[datetime, Place], Rejection] = {}
        self._causes: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def note(self, source: str, cause: str, status: int, head: Head | None) -> None:
        """Without a head where the request could not even be read."""
        address = "" if head is None else self._address_of(head)[:ADDRESS_CHARACTERS]
        with self._lock:
            now = self._clock.now()
            if self._minute is None or (now >= self._minute and minute_of(now) != self._minute):
                self._minute = minute_of(now)
                self._rows.clear()
                self._rows_of.clear()
            row = self._rows.get((source, cause, address))
            if row is None:
                row, address = self._new_row(source, cause, address, status, head, now)
            row.count += 1
            self._causes[source][cause] += 1
            place = (source, cause, address)
            if len(self._unsent) < UNSENT_AT_MOST or (self._minute, place) in self._unsent:
                told = (row.at, source, row.path, address, cause, row.status, row.headers)
                self._unsent[self._minute, place] = Rejection(*told, count=row.count)

    def take(self) -> list[Rejection]:
        """Those that have changed since the last time."""
        with self._lock:
            changed, self._unsent = list(self._unsent.values()), {}
        return changed

    def keep(self, rejections: list[Rejection]) -> None:
        """They could not be told: they are taken again."""
        with self._lock:
            for one in rejections:
                if len(self._unsent) < UNSENT_AT_MOST:
                    self._unsent.setdefault((one.minute, (one.source, one.cause, one.address)), one)

    def commonest(self, source: str) -> str:
        """The cause that its refusals had most often. Few of those with a wrong signature are looked into, and what was
        found out about them says more than the rest."""
        with self._lock:
            causes = self._causes[source].copy()
        known = Counter({cause: count for cause, count in causes.items() if cause != UNVERIFIED})
        if causes[UNVERIFIED] and not any("-" in cause or cause == "timestamp" for cause in known):
            known = causes
        return next((cause for cause, _ in (known or causes).most_common(1)), UNVERIFIED)

    def forget_causes(self, source: str) -> None:
        with self._lock:
            self._causes.pop(source, None)

    def _new_row(
        self, source: str, cause: str, address: str, status: int, head: Head | None, now: datetime
    ) -> tuple[_Row, str]:
        if self._rows_of[source] >= ROWS_OF_ONE_SOURCE:
            address = REST
        self._rows_of[source] += 1
        path = "" if head is None else head.path[:PATH_CHARACTERS]
        row = self._rows.setdefault((source, cause, address), _Row(now, path, status, _names(head)))
        return row, address


def _names(head: Head | None) -> tuple[str, ...]:
    if head is None:
        return ()
    names = dict.fromkeys(name.decode("ascii", "replace")[:HEADER_NAME_CHARACTERS] for name, _ in head.headers)
    return tuple(["".join(name.split()) for name in names][:HEADER_NAMES_AT_MOST])
