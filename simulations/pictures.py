"""Pictures of the docs, as SVG that can be read on a light page and on a dark one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from simulations.plan import two_figures

_STYLE = """<style>
:root { --ink: #1f2328; --faint: #d0d7de; --one: #2a6db0; --two: #b5542a; --paper: #ffffff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #3d444d; --one: #6cb0f5; --two: #f0936a; --paper: #0d1117; }
}
text { fill: var(--ink); font: 13px sans-serif; }
.small { font-size: 11px; }
.faint { stroke: var(--faint); fill: none; }
.line { stroke: var(--ink); fill: none; }
.box { stroke: var(--ink); fill: var(--paper); }
.bar0 { fill: var(--one); } .bar1 { fill: var(--two); }
.flow0 { stroke: var(--one); fill: none; stroke-width: 2; } .flow1 { stroke: var(--two); fill: none; stroke-width: 2; }
</style>"""

_TIP = """<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
<path d="M0 0 L8 4 L0 8 z" fill="context-stroke"/></marker></defs>"""
_LEFT, _WIDTH = 210, 560
_LOWEST, _DECADES = 2.0, 4.0
"""The axis of rates goes from 100 to a million events a second."""


def reaches_picture(by_choice: Mapping[str, Mapping[str, float]]) -> str:
    """For each thing that one server has: the rate at which it is full, for each choice of retention."""
    names = list(next(iter(by_choice.values())))
    height = 70 + 46 * len(names)
    parts = [_opening(_LEFT + _WIDTH + 90, height, "The rate at which one server is full")]
    for place, choice in enumerate(by_choice):
        x = _LEFT + place * 240
        parts.append(f'<rect class="bar{place}" x="{x}" y="14" width="14" height="14"/>')
        parts.append(_text(x + 20, 26, choice))
    parts += _axis(height)
    for row, name in enumerate(names):
        top = 46 + 46 * row
        parts.append(_text(_LEFT - 10, top + 22, name, "end"))
        for place, reached in enumerate(by_choice.values()):
            end, y = _across(reached[name]), top + 17 * place
            parts.append(f'<rect class="bar{place}" x="{_LEFT}" y="{y}" width="{end - _LEFT:.0f}" height="14"/>')
            parts.append(_text(end + 6, y + 12, f"{two_figures(reached[name]):,}", small=True))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _axis(height: int) -> list[str]:
    parts = []
    for power in range(int(_LOWEST), int(_LOWEST + _DECADES) + 1):
        x = _across(10.0**power)
        parts.append(f'<line class="faint" x1="{x:.0f}" y1="38" x2="{x:.0f}" y2="{height - 24}"/>')
        parts.append(_text(x, height - 8, f"{10**power:,}", "middle", small=True))
    return [*parts, _text(_LEFT - 10, height - 8, "events/s", "end", small=True)]


def _across(rate: float) -> float:
    share = (math.log10(rate) - _LOWEST) / _DECADES
    return _LEFT + _WIDTH * min(1.0, max(0.0, share))


def regions_picture() -> str:
    """A delivery for a key whose home is elsewhere: durable where it arrives, processed at its home."""
    parts = [
        _opening(880, 225, "A delivery that arrives in a region that is not its home"),
        _TIP,
        *_region(150, "Region B, not the home", ["intake", "journal"]),
        *_region(490, "Region A, the home of this key", ["inbox", "worker", "ledger"]),
        _text(10, 88, "sender"),
        _flow([(60, 76), (168, 76)], 0),
        _text(70, 68, "1 POST", small=True),
        _flow([(205, 96), (205, 138)], 0),
        _text(212, 121, "2 durable", small=True),
        _flow([(168, 92), (60, 92)], 0),
        _text(70, 107, "3 200", small=True),
        _flow([(260, 148), (330, 148), (330, 76), (508, 76)], 1),
        _text(362, 68, "4 forward, again", small=True),
        _text(362, 112, "5 committed:", small=True),
        _text(362, 126, "forget the record", small=True),
        _flow([(510, 90), (348, 90), (348, 162), (262, 162)], 1),
        _flow([(545, 96), (545, 138)], 1),
        _text(552, 121, "6 claim", small=True),
        _flow([(600, 156), (648, 156)], 1),
        _text(606, 148, "7 once", small=True),
        _text(490, 212, "The ledger's row for this slot lets the home commit, and nobody else.", small=True),
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _region(x: int, name: str, boxes: Sequence[str]) -> list[str]:
    width = 260 if len(boxes) > 2 else 130
    parts = [f'<rect class="faint" x="{x}" y="40" width="{width + 20}" height="150" rx="8"/>', _text(x + 10, 32, name)]
    places = {"intake": (x + 20, 66), "inbox": (x + 20, 66), "journal": (x + 20, 140), "worker": (x + 20, 140)}
    places["ledger"] = (x + 160, 140)
    for box in boxes:
        left, top = places[box]
        parts.append(f'<rect class="box" x="{left}" y="{top}" width="90" height="30" rx="4"/>')
        parts.append(_text(left + 45, top + 20, box, "middle"))
    return parts


def _flow(points: Sequence[tuple[int, int]], which: int) -> str:
    way = " ".join(f"{x},{y}" for x, y in points)
    return f'<polyline class="flow{which}" points="{way}" marker-end="url(#tip)"/>'


def _opening(width: int, height: int, title: str) -> str:
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(title)}">\n{_STYLE}\n'
        f'<rect width="100%" height="100%" fill="var(--paper)"/>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start", *, small: bool = False) -> str:
    kind = ' class="small"' if small else ""
    return f'<text{kind} x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(text)}</text>'
