"""A drawing of a graph of effects: a column for each layer, a box for each node, a line for each that waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape

from landfast.domain.effect import EffectState
from landfast.operations.effect_graph import Node

BOX_WIDTH, BOX_HEIGHT = 190, 48
GAP_ACROSS, GAP_DOWN = 60, 18
MARGIN = 16
LABEL_AT_MOST = 24
"""Characters that fit into a box."""

ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0L10 5L0 10z" fill="#888"/></marker></defs>'
)

COLOURS = {
    EffectState.WAITING: "#e8e8e8",
    EffectState.READY: "#d6e6ff",
    EffectState.CLAIMED: "#d6e6ff",
    EffectState.DELAYED: "#fff1c2",
    EffectState.DONE: "#d5f2d5",
    EffectState.DEAD: "#f7cfcf",
}


def svg(nodes: Sequence[Node]) -> str:
    """A whole file. What it shows of names is escaped: they are the user's."""
    places = _places(nodes)
    lines = [_line(places[id(before)], places[id(node)]) for node in nodes for before in node.before]
    boxes = [_box(node, *places[id(node)]) for node in nodes]
    width = max((x for x, _ in places.values()), default=0) + BOX_WIDTH + MARGIN
    height = max((y for _, y in places.values()), default=0) + BOX_HEIGHT + MARGIN
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, ARROW, *lines, *boxes, "</svg>", ""])


def _places(nodes: Sequence[Node]) -> dict[int, tuple[int, int]]:
    """The upper left corner of each."""
    used: Counter[int] = Counter()
    places = {}
    for node in nodes:
        x = MARGIN + node.layer * (BOX_WIDTH + GAP_ACROSS)
        y = MARGIN + used[node.layer] * (BOX_HEIGHT + GAP_DOWN)
        used[node.layer] += 1
        places[id(node)] = x, y
    return places


def _line(before: tuple[int, int], after: tuple[int, int]) -> str:
    x, y = before[0] + BOX_WIDTH, before[1] + BOX_HEIGHT // 2
    end_x, end_y = after[0], after[1] + BOX_HEIGHT // 2
    bend = (x + end_x) // 2
    path = f"M {x} {y} C {bend} {y}, {bend} {end_y}, {end_x} {end_y}"
    return f'<path d="{path}" fill="none" stroke="#888" marker-end="url(#arrow)"/>'


def _box(node: Node, x: int, y: int) -> str:
    box = f'<rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="6" stroke="#666"'
    title = f"<title>{escape(f'{node.label}: {node.told()}')}</title>"
    return (
        f'<g class="{node.state}">{title}{box} fill="{COLOURS[node.state]}"/>'
        f'<text x="{x + 10}" y="{y + 20}" font-weight="bold">{escape(_cut(node.label))}</text>'
        f'<text x="{x + 10}" y="{y + 38}">{escape(_cut(node.told()))}</text></g>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= LABEL_AT_MOST else f"{text[: LABEL_AT_MOST - 1]}…"
