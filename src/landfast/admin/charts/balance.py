"""A sum as a bar: the parts that the proof says must be the whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 1000, 12

LEAST_SHARE = 0.004
"""Of the bar, for a part that is not nought: one dead letter among a million must be seen."""


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    tone: str
    """A class of the style sheet: ok, warn, bad, held, info or idle."""
    count: int


def balance(parts: Sequence[Part], *, title: str) -> str:
    """The parts side by side, small ones wider than they are, so that none is hidden."""
    there = [part for part in parts if part.count > 0]
    whole = sum(part.count for part in there)
    told = escape(f"{title}: {', '.join(f'{part.name} {part.count:,}' for part in there) or 'nothing yet'}")
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none"'
    head = f'<svg class="balance" {size} role="img" aria-label="{told}">'
    shares = [max(part.count / whole, LEAST_SHARE) for part in there]
    drawn, x = [f'<rect class="gap" x="0" y="0" width="{WIDTH}" height="{HEIGHT}"/>'], 0.0
    for part, share in zip(there, shares, strict=True):
        wide = share / sum(shares) * WIDTH
        drawn.append(
            f'<rect class="fill {part.tone}" x="{x:.1f}" y="0" width="{wide:.1f}" height="{HEIGHT}">'
            f"<title>{escape(part.name)} {part.count:,}</title></rect>"
        )
        x += wide
    return "".join([head, *drawn, "</svg>"])
