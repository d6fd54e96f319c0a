"""The picture of the comparison: a bar for what is done in a second, and what was lost or doubled beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Protocol

from bench.peers import LANDFAST
from bench.peers.kills import Survived

_LINE = 30
_LEFT = 230
_WIDTH = 330
_FONT = 'font-family="sans-serif" font-size="13"'


class Compared(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def why_not(self) -> str: ...
    @property
    def done_per_second(self) -> float: ...
    @property
    def survived(self) -> Survived | None: ...


def picture(machine: Mapping[str, Any], rows: Sequence[Compared]) -> str:
    most = max((row.done_per_second for row in rows), default=0.0) or 1.0
    height = 60 + _LINE * len(rows)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" {_FONT} role="img">',
        "<title>Webhooks taken in and done in a second, and what was lost or doubled</title>",
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{_LEFT}" y="22" font-weight="bold">done in a second</text>',
        f'<text x="{_LEFT + _WIDTH + 90}" y="22" font-weight="bold">killed with -9 five times</text>',
    ]
    for place, row in enumerate(rows):
        y = 34 + _LINE * place
        length = row.done_per_second / most * _WIDTH
        color = "#2a7d4f" if row.name == LANDFAST else "#7a8594"
        figure = "not measured" if row.why_not else f"{row.done_per_second:,.0f}"
        parts += [
            f'<text x="{_LEFT - 10}" y="{y + 16}" text-anchor="end">{escape(row.name)}</text>',
            f'<rect x="{_LEFT}" y="{y}" width="{max(1, length):.0f}" height="22" fill="{color}"/>',
            f'<text x="{_LEFT + length + 6:.0f}" y="{y + 16}">{figure}</text>',
            f'<text x="{_LEFT + _WIDTH + 90}" y="{y + 16}">{escape(_fate(row.survived))}</text>',
        ]
    about = ", ".join(str(machine[name]) for name in ("cpu", "kernel", "date"))
    return "\n".join([*parts, f'<text x="10" y="{height - 8}" fill="#555">{escape(about)}</text>', "</svg>"]) + "\n"


def _fate(found: Survived | None) -> str:
    return f"{found.lost:,} lost, {found.doubled:,} doubled" if found else "not tried"
