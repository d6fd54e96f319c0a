"""Printing: rich in a terminal, plain elsewhere, JSON when asked. Whatever came from outside is hostile text."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

LINES = frozenset("\n\t")


def safe(text: str, *, lines: bool = False) -> str:
    """The text with everything that could move a cursor, ring a bell or turn the direction of writing made visible."""
    keep = LINES if lines else frozenset()
    return "".join(c if c.isprintable() or c in keep else _visible(c) for c in text)


def say(text: str = "") -> None:
    """One line of ours; what it quotes has been through `safe`."""
    click.echo(text)


def say_json(value: Any) -> None:
    # ASCII only: what a terminal would obey arrives as \u escapes, and a reader gets it back exactly.
    click.echo(json.dumps(value, default=_plain, ensure_ascii=True))


def say_table(
    headings: Sequence[str], rows: Sequence[Sequence[Any]], *, cut: Mapping[str, int] = MappingProxyType({})
) -> None:
    """A table in a terminal, where the columns in `cut` show so many characters and never wrap; elsewhere tab-separated
    lines under a line of headings, whole, for cut and awk."""
    cells = [[safe(shown(cell)) for cell in row] for row in rows]
    console = Console()
    if not console.is_terminal:
        say("\t".join(headings))
        for row in cells:
            say("\t".join(row))
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        width = (
            max(len(heading), min(cut[heading], _widest(cells, headings.index(heading)))) if heading in cut else None
        )
        table.add_column(heading, no_wrap=heading in cut, min_width=width)
    for row in cells:
        table.add_row(*(_cell(cell, cut.get(heading)) for cell, heading in zip(row, headings, strict=True)))
    console.print(table)


def _widest(cells: Sequence[Sequence[str]], column: int) -> int:
    return max((len(row[column]) for row in cells), default=0)


def _cell(cell: str, width: int | None) -> Text:
    """Text, because a body may hold rich's own markup."""
    if width is None:
        return Text(cell, overflow="fold")
    return Text(cell if len(cell) <= width else f"{cell[: width - 1]}…", overflow="crop")


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
        return value.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
    return str(value)


def body_fields(body: bytes) -> dict[str, str]:
    """A body in JSON: as text where it is text, else in base64."""
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode()}


def json_or_text(value: bytes) -> Any:
    """What holds JSON as the value that it is, and anything else as text."""
    try:
        return json.loads(value)
    except ValueError:
        return value.decode("utf-8", "replace")


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
