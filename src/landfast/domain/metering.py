"""Meters: what is counted in memory between two reports. A lookup and an addition for each event, and no clock."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime

from landfast.domain.rates import (
    DETAILS_AT_MOST,
    LATENCY_BUCKETS,
    NAME_CHARACTERS,
    REST,
    TYPES_AT_MOST,
    Meter,
    Rate,
    RateKey,
    bucket_of,
)

KEYS_AT_MOST = 10_000
"""Rows of the totals since boot: what a scrape of one process has to carry at most."""

_Cell = list[int]
"""How many, and, where times were given, how many in each bucket."""


Also = Callable[[str, str, str, str, int, float | None], None]
"""Told each count, too: the meter, the source, the handler, the detail, how many, and how long each took."""


class Meters:
    def __init__(self, also: Also | None = None) -> None:
        self._also = also
        self._cells: dict[tuple[str, str, str, str, str], _Cell] = {}
        self._totals: dict[RateKey, _Cell] = {}
        self._minute: datetime | None = None
        self._types: defaultdict[str, set[str]] = defaultdict(set)
        self._details: defaultdict[tuple[str, str, str], set[str]] = defaultdict(set)

    def count(
        self,
        meter: Meter,
        source: str = "",
        type: str = "",  # noqa: A002 - the word that an event uses
        handler: str = "",
        detail: str = "",
        *,
        count: int = 1,
        seconds: float | None = None,
    ) -> None:
        # Plain text in the key: the hash of an enum's member is a call of Python's own.
        key = (meter._value_, source, type, handler, detail)
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = [0]
        cell[0] += count
        if seconds is not None:
            if len(cell) == 1:
                cell.extend([0] * LATENCY_BUCKETS)
            cell[1 + bucket_of(seconds)] += count
        if self._also is not None:
            self._also(meter._value_, source, handler, detail, count, seconds)

    def take(self, minute: datetime) -> list[Rate]:
        """What was counted since the last time, as of this minute."""
        if minute != self._minute:
            self._minute = minute
            self._types.clear()
            self._details.clear()
        cells, self._cells = self._cells, {}
        found: dict[RateKey, _Cell] = {}
        for raw, cell in cells.items():
            key = self._bounded(RateKey(Meter(raw[0]), *[text[:NAME_CHARACTERS] for text in raw[1:]]))
            _add(found.setdefault(key, [0]), cell)
        for key, cell in found.items():
            if key in self._totals or len(self._totals) < KEYS_AT_MOST:
                _add(self._totals.setdefault(key, [0]), cell)
        return [Rate(minute, *key, count=cell[0], histogram=tuple(cell[1:])) for key, cell in found.items() if cell[0]]

    def totals(self) -> dict[RateKey, tuple[int, tuple[int, ...]]]:
        """Since boot, up to the last `take`."""
        return {key: (cell[0], tuple(cell[1:])) for key, cell in self._totals.items()}

    def _bounded(self, key: RateKey) -> RateKey:
        """Under its own type and detail, or among the rest where this minute has too many already."""
        types = self._types[key.source]
        if key.type and not _has_room(types, key.type, TYPES_AT_MOST):
            key = key._replace(type=REST)
        details = self._details[key.meter, key.source, key.handler]
        if key.detail and not _has_room(details, key.detail, DETAILS_AT_MOST):
            key = key._replace(detail=REST)
        return key


def _has_room(known: set[str], text: str, most: int) -> bool:
    if text in known:
        return True
    if len(known) >= most:
        return False
    known.add(text)
    return True


def _add(cell: _Cell, more: _Cell) -> None:
    if len(cell) < len(more):
        cell.extend([0] * (len(more) - len(cell)))
    for place, count in enumerate(more):
        cell[place] += count
