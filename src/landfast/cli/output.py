"""Printing: rich in a terminal, plain elsewhere, JSON when asked. Whatever came from outside is hostile text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import click
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from landfast.domain.json_numbers import finite

LINES = frozenset("\n\t")
GAP = "  "
UNITS = ((86400, "d"), (3600, "h"), (60, "min"))
COLUMN_CHARACTERS_AT_LEAST = 12
"""Characters of a column that is shortened: enough to tell two types, keys or errors apart."""


def counted(count: int, what: str = "event") -> str:
    """`1 event`, `2,000 events`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def safe(text: str, *, lines: bool = False) -> str:
    """The text with everything that could move a cursor, ring a bell or turn the direction of writing made visible."""
    keep = LINES if lines else frozenset()
    return "".join(c if c.isprintable() or c in keep else _visible(c) for c in text)


def say(text: str = "") -> None:
    """One line of ours; what it quotes has been through `safe`."""
    click.echo(text)


def say_json(value: Any) -> None:
    # ASCII only: what a terminal would obey arrives as \u escapes, and a reader gets it back exactly.
    click.echo(json.dumps(finite(value), default=_plain, ensure_ascii=True, allow_nan=False))


def say_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    cut: Mapping[str, int] = MappingProxyType({}),
    whole: Collection[str] = (),
    spare: Sequence[str] = (),
) -> None:
    """A table, one line for each row. In a terminal the columns in `cut` show so many characters at most; where it is
    narrow, those in `spare` are left out, the first one first, and then all are shortened that are not in `whole`.
    Elsewhere tab-separated lines under a line of headings, all of it, for cut and awk."""
    cells = [[safe(shown(cell)) for cell in row] for row in rows]
    console = Console()
    if not console.is_terminal:
        for row in (headings, *cells):
            say("\t".join(row))
        return
    columns = {heading: [row[number] for row in cells] for number, heading in enumerate(headings)}
    widths = _fitted(_widths(columns, cut), console.width, whole, spare)
    console.print(Text(_line(widths, {heading: heading for heading in widths}), style="bold"), no_wrap=True)
    for number in range(len(cells)):
        line = _line(widths, {heading: columns[heading][number] for heading in widths})
        console.print(Text(line), no_wrap=True, overflow="ellipsis")


def _widths(columns: Mapping[str, Sequence[str]], cut: Mapping[str, int]) -> dict[str, int]:
    """What each column would like to have; nothing for one that is empty."""
    widest = {heading: max((cell_len(cell) for cell in cells), default=0) for heading, cells in columns.items()}
    return {
        heading: max(cell_len(heading), min(width, cut.get(heading, width)))
        for heading, width in widest.items()
        if width
    }


def _fitted(widths: dict[str, int], room: int, whole: Collection[str], spare: Sequence[str]) -> dict[str, int]:
    """The columns that a terminal of this width has room for, each wide enough to be read."""
    least = {name: width if name in whole else min(width, COLUMN_CHARACTERS_AT_LEAST) for name, width in widths.items()}
    for name in spare:
        if _total(least) > room:
            least.pop(name, None)
    fitted = {name: width for name, width in widths.items() if name in least}
    while _total(fitted) > room and (wide := [name for name in fitted if fitted[name] > least[name]]):
        fitted[max(wide, key=fitted.__getitem__)] -= 1
    return fitted


def _total(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def _line(widths: Mapping[str, int], cells: Mapping[str, str]) -> str:
    return GAP.join(_sized(cells[heading], width) for heading, width in widths.items()).rstrip()


def _sized(text: str, width: int) -> str:
    return set_cell_size(text, width) if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"


def say_pairs(pairs: Mapping[str, Any]) -> None:
    """`name  value` lines; empty values are left out."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        if value not in (None, ""):
            say(f"{name:<{width}}  {safe(shown(value))}")


def shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    return str(value)


def duration(seconds: float) -> str:
    size, unit = next((each for each in UNITS if seconds >= each[0]), (1, "s"))
    count = seconds / size
    return f"{count:.3g} {unit}" if count < 1000 else f"{count:,.0f} {unit}"


def body_text(body: bytes) -> str:
    return safe(body.decode("utf-8", "backslashreplace"), lines=True)


def _visible(character: str) -> str:
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    raise TypeError(f"{type(value).__name__} has no JSON form")
