"""The numbers of some pages as `/metrics` prints them: Prometheus's text format, version 0.0.4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

from landfast.telemetry.metrics import FAMILIES, Family, Histogram, Merge
from landfast.telemetry.pages import Page

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_OF_LIVING = (Merge.SUM_OF_LIVING, Merge.LARGEST_OF_LIVING)
_LARGEST = (Merge.LARGEST, Merge.LARGEST_OF_LIVING)

Values = tuple[float, ...]
Counted = dict[tuple[str, ...], Values]
"""Numbers of one family, by labels."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric that somebody else was asked for, such as a database."""

    name: str
    says: str
    labels: tuple[str, ...]
    values: Mapping[tuple[str, ...], float]


@dataclass(slots=True)
class Sums:
    """What several processes have counted, put together."""

    _found: dict[str, Counted] = field(default_factory=dict)

    def add(self, page: Page, *, has_ended: bool = False) -> None:
        for name, labels, values in page.series():
            family = FAMILIES.get(name)
            if family is None or (has_ended and family.merge in _OF_LIVING):
                continue
            counted = self._found.setdefault(name, {})
            before = counted.get(labels)
            counted[labels] = values if before is None else _merged(family, before, values)

    def at_least(self, family: Family, values: Mapping[str, float]) -> None:
        """What somebody else knows of a metric with one label, where it is more than is counted here."""
        counted = self._found.setdefault(family.name, {})
        for label, value in values.items():
            counted[label,] = (max(value, *counted.get((label,), (value,))),)

    def write(self, page: Page) -> None:
        """Into an empty page."""
        for name, counted in self._found.items():
            for labels, values in counted.items():
                first = page.name(name, labels, len(values))
                for place, value in enumerate(values, first):
                    page.values[place] = value

    def copy(self) -> Sums:
        return Sums({name: dict(counted) for name, counted in self._found.items()})

    def __getitem__(self, name: str) -> Counted:
        return self._found.get(name, {})


def _merged(family: Family, one: Values, other: Values) -> Values:
    if family.merge in _LARGEST:
        return tuple(map(max, one, other))
    return tuple([a + b for a, b in zip(one, other, strict=True)])


def text(sums: Sums, readings: Iterable[Reading] = ()) -> bytes:
    lines: list[str] = []
    for family in FAMILIES.values():
        lines += _head(family.name, family.says, family.kind)
        for labels, values in sorted(sums[family.name].items()):
            named = tuple(zip(family.labels, labels, strict=True))
            lines += (
                _histogram(family, named, values)
                if isinstance(family, Histogram)
                else [f"{family.name}{_braces(named)} {_number(values[0])}"]
            )
    for reading in readings:
        lines += _head(reading.name, reading.says, "gauge")
        for labels, value in reading.values.items():
            lines.append(f"{reading.name}{_braces(tuple(zip(reading.labels, labels, strict=True)))} {_number(value)}")
    return ("\n".join(lines) + "\n").encode()


def _head(name: str, says: str, kind: str) -> list[str]:
    return [f"# HELP {name} {says}", f"# TYPE {name} {kind}"]


def _histogram(family: Histogram, named: tuple[tuple[str, str], ...], values: Values) -> Iterator[str]:
    total = 0.0
    for bound, count in zip((*family.bounds, inf), values, strict=False):
        total += count
        yield f"{family.name}_bucket{_braces((*named, ('le', _number(bound))))} {_number(total)}"
    yield f"{family.name}_sum{_braces(named)} {_number(values[-1])}"
    yield f"{family.name}_count{_braces(named)} {_number(total)}"


def _braces(named: tuple[tuple[str, str], ...]) -> str:
    if not named:
        return ""
    return "{" + ",".join([f'{name}="{_escaped(value)}"' for name, value in named]) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    if value == inf:
        return "+Inf"
    return f"{value:.0f}" if value == int(value) and abs(value) < 1e15 else repr(value)
