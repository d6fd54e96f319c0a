"""The effects of an event as drawings, one for each run: as the command line draws them, in the colours of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from landfast.admin.pages.drawn import drawn
from landfast.domain.effect import EffectState, Step
from landfast.operations.effect_graph import runs_of
from landfast.operations.graph_svg import svg


def drawn_graphs(effects: Sequence[Mapping[str, Any]]) -> list[tuple[int, Markup]]:
    """Only where one effect waits for another: a list tells the others as well."""
    rows = [
        {**row, "state": EffectState(row["state"]), "step": Step(named=row["named"], after=tuple(row["after"]))}
        for row in effects
    ]
    runs = runs_of(rows)
    return [(run, drawn(svg(nodes))) for run, nodes in runs.items() if any(node.before for node in nodes)]
