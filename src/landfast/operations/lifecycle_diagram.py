"""A lifecycle as a drawing: from its declaration alone, as text and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import NamedTuple

from landfast.domain.machine import ABSENT, Machine, in_words

_STYLE = (
    "text{font:14px system-ui,sans-serif;fill:#1b1f24}.small{font-size:12px}"
    "rect{fill:#fff;stroke:#57606a;stroke-width:1.5}"
    ".last{stroke-width:3}.absent{stroke-dasharray:4 3}path{fill:none;stroke:#57606a;stroke-width:1.5}"
    "marker path{fill:#57606a;stroke:none}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}rect{fill:#161b22;stroke:#9da7b3}path{stroke:#9da7b3}"
    "marker path{fill:#9da7b3;stroke:none}}"
)
_ARROW = (
    '<marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L10 5L0 10z"/></marker>'
)
_HIGH, _LINE, _CHARACTER, _PAD, _ACROSS, _DOWN, _MARGIN = 36, 16, 9, 24, 70, 40, 60
"""Pixels: of a box, of a further line and of a letter in it and beside them, between boxes, and around all."""


class Box(NamedTuple):
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


def as_text(machine: Machine) -> Iterator[str]:
    """A line for each transition, with the types that make it, where the declaration says so."""
    then = "runs all the same" if machine.runs_at_deadline else "becomes a dead letter"
    yield f"lifecycle {machine.name}: an event that is not legal waits {in_words(machine.deadline)}, then it {then}"
    states = _in_order(machine)
    wide = max(map(len, states))
    for state in states:
        follow = machine.transitions.get(state, ())
        if not follow:
            yield f"  {state:<{wide}}  (last)"
        for each in follow:
            types = ", ".join(type_ for type_, leads in machine.types.items() if leads == each)
            yield f"  {state:<{wide}} -> {each:<{wide}}  {types}".rstrip()


def as_svg(machine: Machine) -> str:
    """One picture, which needs nothing else, and is legible on light and on dark ground."""
    boxes = _boxes(machine)
    width = max(box.x + box.width for box in boxes.values()) + _MARGIN
    height = max(box.y + box.height for box in boxes.values()) + _MARGIN
    title = escape(f"lifecycle {machine.name}")
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    arrows = [_arrow(boxes[state], boxes[each]) for state, follow in machine.transitions.items() for each in follow]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">',
            f"<title>{title}</title><style>{_STYLE}</style>",
            f"<defs>{_ARROW}</defs>",
            *arrows,
            *(_drawn(machine, state, box) for state, box in boxes.items()),
            f'<text class="small" x="{_MARGIN}" y="{height - 12:g}">{_source(machine)}</text>',
            "</svg>\n",
        ]
    )


def _in_order(machine: Machine) -> list[str]:
    return [ABSENT, *machine.states]


def _depths(machine: Machine) -> Mapping[str, int]:
    """How many transitions a state is away from the first one, on the shortest way."""
    depths, new = {ABSENT: 0}, [ABSENT]
    while new:
        state = new.pop(0)
        for each in machine.transitions.get(state, ()):
            if each not in depths:
                depths[each] = depths[state] + 1
                new.append(each)
    return depths


def _boxes(machine: Machine) -> dict[str, Box]:
    depths = _depths(machine)
    columns: dict[int, list[str]] = {}
    for state in _in_order(machine):
        columns.setdefault(depths[state], []).append(state)
    boxes, x = {}, float(_MARGIN)
    for _, states in sorted(columns.items()):
        words = [*states, *(type_ for state in states for type_ in _types(machine, state))]
        width, y = max(map(len, words)) * _CHARACTER + 2 * _PAD, float(_MARGIN)
        for state in states:
            boxes[state] = Box(x, y, width, _HIGH + _LINE * len(_types(machine, state)))
            y += boxes[state].height + _DOWN
        x += width + _ACROSS
    return boxes


def _drawn(machine: Machine, state: str, box: Box) -> str:
    kind = "absent" if state == ABSENT else "last" if machine.is_last(state) else "state"
    middle, y = box.x + box.width / 2, box.y + _HIGH / 2 + 5
    lines = [f'<text x="{middle:g}" y="{y:g}" text-anchor="middle">{escape(state)}</text>']
    for number, type_ in enumerate(_types(machine, state), 1):
        at = f'x="{middle:g}" y="{y + number * _LINE:g}"'
        lines.append(f'<text class="small" {at} text-anchor="middle">{escape(type_)}</text>')
    size = f'width="{box.width:g}" height="{box.height:g}"'
    return f'<rect class="{kind}" x="{box.x:g}" y="{box.y:g}" {size} rx="8"/>' + "".join(lines)


def _types(machine: Machine, state: str) -> list[str]:
    """The types of events that lead there, where the declaration says so: below its name."""
    return [type_ for type_, leads in machine.types.items() if leads == state]


def _source(machine: Machine) -> str:
    return escape(f"drawn from the declaration of lifecycle {machine.name}; below a state, the events that lead to it")


def _arrow(start: Box, end: Box) -> str:
    if start == end:  # back to itself, over its own roof
        x = start.x + start.width / 2
        path = f"M{x - 14:g} {start.y:g}C{x - 30:g} {start.y - 36:g} {x + 30:g} {start.y - 36:g} {x + 14:g} {start.y:g}"
    elif end.x > start.x:
        out, into, bend = start.x + start.width, end.x, _ACROSS / 2
        path = f"M{out:g} {start.middle:g}C{out + bend:g} {start.middle:g} "
        path += f"{into - bend:g} {end.middle:g} {into:g} {end.middle:g}"
    elif end.x == start.x:
        x, down = start.x + start.width / 2, end.y > start.y
        first, last = (start.y + start.height, end.y) if down else (start.y, end.y + end.height)
        path = f"M{x + (8 if down else -8):g} {first:g}L{x + (8 if down else -8):g} {last:g}"
    else:  # back, below the boxes
        out, into = start.x + start.width / 2, end.x + end.width / 2
        first, last = start.y + start.height, end.y + end.height
        low = max(first, last) + 40
        path = f"M{out:g} {first:g}C{out:g} {low:g} {into:g} {low:g} {into:g} {last:g}"
    return f'<path d="{path}" marker-end="url(#arrow)"/>'
