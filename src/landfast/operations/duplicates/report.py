"""Which rows one event, or one payment, wrote more than once; which of them to keep; and which only look so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from difflib import get_close_matches
from itertools import groupby
from typing import Any

from landfast.domain.body import moment
from landfast.domain.errors import UserError
from landfast.domain.ids import InboxId, receipt_digest
from landfast.operations.duplicates.reader import SQL, Column, Reader, quoted

ROWS_NAMED = 100
"""Rows of one value that are named: how many there are is always told."""

TIME_NAMES = ("created_at", "inserted_at", "created_on", "created", "at")
"""What a column is called that says when a row was written, where nobody names it."""

SAME_MOMENT_SECONDS = 5.0
"""A row and its receipt are written in one transaction; clocks of two machines may lie between them."""

_NUMBERS = ("int", "serial")


@dataclass(frozen=True, slots=True)
class Asked:
    table: str
    column: str
    event_column: str | None = None
    time_column: str | None = None
    source: str | None = None
    """Whose keys stand in the event column: then receipts can say which row was written by Landfast."""
    groups: int = 100


@dataclass(frozen=True, slots=True)
class Doubled:
    value: Any
    event: Any
    """None where no column names it."""
    count: int
    keep: Any
    """The id of a row."""
    keep_because: str
    extra: tuple[Any, ...]
    """The ids of the others, oldest first, as far as they are named."""


@dataclass(frozen=True, slots=True)
class Legitimate:
    """Several rows, each of another event: two payments of one invoice, say. None of them is a duplicate."""

    value: Any
    count: int
    events: int


@dataclass(frozen=True, slots=True)
class Report:
    rows: int
    without_value: int
    doubled_values: int
    extra_rows: int
    legitimate_values: int
    unclear_values: int
    """Several rows that name no event: nobody can tell."""
    doubled: tuple[Doubled, ...] = ()
    legitimate: tuple[Legitimate, ...] = ()
    id_columns: tuple[str, ...] = ()
    oldest_by: str = ""
    """The column that says which row is the oldest."""
    notes: tuple[str, ...] = field(default_factory=tuple)


async def find_duplicates(reader: Reader, asked: Asked, *, inbox: InboxId | None = None) -> Report:
    columns = await _columns(reader, asked)
    told = _terms(reader, asked, columns)
    (((rows, with_value),),) = [await reader.fetch(SQL["totals"].format(**told))]
    (((doubled, extra),),) = [await reader.fetch(SQL["doubled_totals"].format(**told))]
    legitimate, unclear = 0, 0
    several: tuple[Legitimate, ...] = ()
    if asked.event_column is not None:
        ((legitimate,),) = await reader.fetch(SQL["legitimate_totals"].format(**told))
        ((unclear,),) = await reader.fetch(SQL["unclear_totals"].format(**told))
        several = tuple(Legitimate(*row) for row in await reader.fetch(SQL["legitimate"].format(**told)))
    found = _grouped(await reader.fetch(SQL["doubled"].format(**told)), told["oldest_by"])
    if inbox is not None and asked.source is not None and asked.event_column is not None:
        found = await _by_receipt(reader, asked.source, inbox, found)
    return Report(
        rows=rows,
        without_value=rows - with_value,
        doubled_values=doubled,
        extra_rows=int(extra),
        legitimate_values=legitimate,
        unclear_values=unclear,
        doubled=tuple(each for each, _ in found),
        legitimate=several,
        id_columns=tuple(column.name for column in columns if column.is_key) or (reader.row_id,),
        oldest_by=told["oldest_by"],
        notes=tuple(_notes(told)),
    )


async def _columns(reader: Reader, asked: Asked) -> Sequence[Column]:
    columns = await reader.columns(asked.table)
    if not columns:
        raise UserError(f"duplicates: there is no table {asked.table!r} in the ledger's database; name one of yours")
    names = [column.name for column in columns]
    options = {"--column": asked.column, "--event-column": asked.event_column, "--time-column": asked.time_column}
    for option, name in options.items():
        if name is not None and name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names)}"
            raise UserError(f"duplicates: {option}: {asked.table} has no column {name!r}; {hint}")
    return columns


def _terms(reader: Reader, asked: Asked, columns: Sequence[Column]) -> dict[str, str]:
    """What stands in the braces of the statements: names, each quoted, and numbers."""
    keys = [column for column in columns if column.is_key]
    named = {column.name for column in columns}
    time = asked.time_column or next((name for name in TIME_NAMES if name in named), None)
    kinds = {column.name: column.kind for column in columns}

    def exact(name: str, of: str = "") -> str:
        return reader.exact(f"{of}{quoted(name)}", kinds[name])

    column, event = exact(asked.column), asked.event_column and exact(asked.event_column)
    if not keys and not reader.row_id:
        raise UserError(f"duplicates: {asked.table} has no primary key, so nothing names its rows; give it one first")
    id_ = " || '/' || ".join(f"CAST(t.{quoted(key.name)} AS {reader.text})" for key in keys) if len(keys) > 1 else ""
    id_ = id_ or f"t.{quoted(keys[0].name) if keys else reader.row_id}"
    by_id = keys[0].name if len(keys) == 1 and any(word in keys[0].kind for word in _NUMBERS) else None
    order = [f"t.{quoted(name)}" for name in dict.fromkeys([time, by_id]) if name]
    return {
        "table": reader.table(asked.table),
        "column": column,
        "event": event or "NULL",
        "event_or_null": event or "NULL",
        "told": f"{column} IS NOT NULL" + (f" AND {event} IS NOT NULL" if event else ""),
        "group": f"{column}, {event}" if event else column,
        "same_value": f"{exact(asked.column, 't.')} = d.value",
        "same_event": f"{exact(asked.event_column, 't.')} = d.event" if asked.event_column else "1 = 1",
        "named": "event" if event else "value",
        "id": id_,
        "time": f"t.{quoted(time)}" if time else "NULL",
        "order": ", ".join([*order, id_]),
        "groups": str(int(asked.groups)),
        "rows": str(ROWS_NAMED + 1),
        "oldest_by": time or by_id or "",
    }


Found = tuple[Doubled, dict[Any, datetime | None]]
"""With the time of each row, by its id."""


def _grouped(rows: Sequence[Sequence[Any]], oldest_by: str) -> list[Found]:
    found: list[Found] = []
    for (value, event, count), each in groupby(rows, key=lambda row: tuple(row[:3])):
        named = list(each)
        ids = [row[3] for row in named]
        because = f"the oldest by {oldest_by}" if oldest_by else "the first; no column says which is the oldest"
        doubled = Doubled(value, event, count, ids[0], because, tuple(ids[1:]))
        found.append((doubled, {row[3]: _time(row[4]) for row in named}))
    return found


async def _by_receipt(reader: Reader, source: str, inbox: InboxId, found: list[Found]) -> list[Found]:
    """Of rows that Landfast's own handler wrote, too: the one that was written with the receipt."""
    digests = {receipt_digest(inbox, source, str(each.event)): number for number, (each, _) in enumerate(found)}
    written = await reader.receipts(list(digests))
    for digest, number in digests.items():
        each, times = found[number]
        at = written.get(digest)
        near = {row: abs((time - at).total_seconds()) for row, time in times.items() if time is not None and at}
        best = min(near, key=near.__getitem__, default=None)
        if best is not None and near[best] <= SAME_MOMENT_SECONDS:
            others = tuple(row for row in (each.keep, *each.extra) if row != best)
            because = "it was written when its receipt was"
            found[number] = replace(each, keep=best, keep_because=because, extra=others), times
    return found


def _time(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    return moment(value) if isinstance(value, str | int | float) else None


def _notes(told: dict[str, str]) -> list[str]:
    if told["oldest_by"]:
        return []
    return ["no column says which row is the oldest: give --time-column, or look before you keep one"]
