"""What is in every table of the user's, as it was at one moment, and how two moments differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

MASKED = "(the database's own)"

PAIRED_AT_MOST = 50
"""Rows that are held against each other, to tell a difference well."""

Column = tuple[str, str]
"""A table and one of its columns."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    volatile: frozenset[str] = frozenset()
    """Columns that the database fills in by itself, with a number or a time, and those that refer to them."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    tables: Mapping[str, Table] = field(default_factory=dict)
    uncounted: tuple[str, ...] = ()
    """Tables that are too large to be compared row by row."""

    def masked(self, wobbly: Collection[Column] = (), born: Collection[Any] = ()) -> dict[str, Counter[Any]]:
        """The rows of each table in no order, without what the database chose: the columns that it fills in, those that
        differ between two equal runs (`wobbly`), and values that it answered with (`born`)."""
        return {
            name: Counter(_masked(name, table, row, wobbly, born) for row in table.rows)
            for name, table in self.tables.items()
        }


def differences(
    one: Snapshot, other: Snapshot, wobbly: Collection[Column] = (), born: Collection[Any] = ()
) -> list[str]:
    """The tables in which the two differ, each with a row that tells the difference."""
    left, right = one.masked(wobbly, born), other.masked(wobbly, born)
    found = []
    for name in sorted({*left, *right}):
        here, there = left.get(name, Counter()), right.get(name, Counter())
        if here != there:
            found.append(f"{name} {_told(_columns(one, other, name), here - there, there - here)}")
    return found


def changed(before: Snapshot, after: Snapshot) -> list[str]:
    """The tables whose contents are not the same, down to the last value."""
    names = sorted({*before.tables, *after.tables})
    return [name for name in names if _exact(before, name) != _exact(after, name)]


def wobbly_columns(one: Snapshot, other: Snapshot) -> set[Column]:
    """Columns that differ between two runs that should be equal, where the rows are the same otherwise."""
    found: set[Column] = set()
    for name in {*one.tables} & {*other.tables}:
        left, right = one.tables[name], other.tables[name]
        for number, column in enumerate(left.columns):
            if _values(left, number) != _values(right, number):
                found.add((name, column))
    return found


def _values(table: Table, number: int) -> Counter[Any]:
    return Counter(_hashable(row[number]) for row in table.rows if number < len(row))


def _exact(snapshot: Snapshot, name: str) -> Counter[Any]:
    table = snapshot.tables.get(name)
    return Counter(tuple(map(_hashable, row)) for row in table.rows) if table else Counter()


def _masked(
    name: str, table: Table, row: tuple[Any, ...], wobbly: Collection[Column], born: Collection[Any]
) -> tuple[Any, ...]:
    return tuple(
        MASKED if column in table.volatile or (name, column) in wobbly or _is_born(value, born) else _hashable(value)
        for column, value in zip(table.columns, row, strict=True)
    )


def _is_born(value: Any, born: Collection[Any]) -> bool:
    return not isinstance(value, bool) and value is not None and _hashable(value) in born


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return value


def _columns(one: Snapshot, other: Snapshot, name: str) -> tuple[str, ...]:
    return (one.tables.get(name) or other.tables[name]).columns


def _told(columns: tuple[str, ...], only_here: Counter[Any], only_there: Counter[Any]) -> str:
    """`(balance 10, and 20)`: the values in which two rows differ, or how many rows there are more."""
    here, there = list(only_here.elements()), list(only_there.elements())
    if len(here) == len(there):
        pairs = _pairs(columns, here, there)
        return f"({'; '.join(pairs)})" if pairs else ""
    return f"({len(here)} rows against {len(there)})"


def _pairs(columns: tuple[str, ...], here: list[Any], there: list[Any]) -> list[str]:
    """Of the two rows that are most alike."""
    alike = [
        [
            f"{column} {_shown(left)} against {_shown(right)}"
            for column, left, right in zip(columns, one, other, strict=True)
            if left != right
        ]
        for one in here[:PAIRED_AT_MOST]
        for other in there[:PAIRED_AT_MOST]
    ]
    return min(alike, key=len, default=[])


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
