"""What a run found: ratios first, absolute numbers second, and the same as JSON and as a picture."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from bench.goals import Verdict
from bench.rows import Row

_FONT = 'font-family="sans-serif" font-size="13"'
_WORDS = {True: "yes", False: "no", None: "void"}


def show(console: Console, machine: Mapping[str, Any], rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    console.print("\n".join(f"  {name:<10} {value}" for name, value in machine.items()), highlight=False)
    goals = Table("goal", "reached", "wanted", "met", title="Ratios")
    for verdict in verdicts:
        goals.add_row(_title(verdict), _ratio(verdict), f"{verdict.goal.side} {verdict.goal.limit:g}", _met(verdict))
    figures = Table("row", "middle", "rounds", "CPU each, microseconds", "notes", title="Figures")
    for row in rows:
        figures.add_row(row.name, _figure(row.value, row.unit), _spread(row), _cpu(row), "; ".join(row.notes))
    console.print(goals)
    console.print(figures)


def write(folder: Path, machine: Mapping[str, Any], rows: Sequence[Row], verdicts: Sequence[Verdict]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "machine": machine,
        "ratios": [
            {"goal": _title(it), "reached": it.ratio, "side": it.goal.side, "limit": it.goal.limit, "met": it.is_met}
            for it in verdicts
        ],
        "figures": [dataclasses.asdict(row) | {"value": row.value} for row in rows],
    }
    (folder / "latest.json").write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    (folder / "latest.svg").write_text(picture(machine, verdicts))


def picture(machine: Mapping[str, Any], verdicts: Sequence[Verdict]) -> str:
    """A bar for each goal, as long as its share of it; the line is where the goal is."""
    measured = [verdict for verdict in verdicts if verdict.ratio]
    height = 60 + 24 * len(measured)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="900" height="{height}" {_FONT}>',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="10" y="20">{escape(", ".join(str(machine[name]) for name in ("cpu", "kernel", "date")))}</text>',
        f'<line x1="650" y1="34" x2="650" y2="{height - 20}" stroke="#444" stroke-dasharray="3 3"/>',
        f'<text x="650" y="{height - 6}" text-anchor="middle">the goal</text>',
    ]
    for place, verdict in enumerate(measured):
        assert verdict.ratio is not None
        # Of a goal of none, one is too many.
        share = verdict.ratio / verdict.goal.limit if verdict.goal.limit else math.inf
        share = share if verdict.goal.side == "at least" else 1 / share
        y = 38 + 24 * place
        color = "#2a7d4f" if verdict.is_met else "#b5542a"
        parts += [
            f'<text x="440" y="{y + 14}" text-anchor="end">{escape(_title(verdict))}</text>',
            f'<rect x="450" y="{y}" width="{min(share, 2) * 200:.0f}" height="18" fill="{color}"/>',
            f'<text x="{455 + min(share, 2) * 200:.0f}" y="{y + 14}">{escape(_ratio(verdict))}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _title(verdict: Verdict) -> str:
    return verdict.goal.row if verdict.goal.against is None else f"{verdict.goal.row} / {verdict.goal.against}"


def _ratio(verdict: Verdict) -> str:
    return "-" if verdict.ratio is None else f"{verdict.ratio:,.2f}"


def _met(verdict: Verdict) -> str:
    return _WORDS[verdict.is_met]


def _figure(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:,.2f} {unit}"


def _spread(row: Row) -> str:
    return f"{min(row.values):,.4g} to {max(row.values):,.4g}" if len(row.values) > 1 else ""


def _cpu(row: Row) -> str:
    each = row.detail.get("cpu_microseconds_each", {})
    return ", ".join(f"{who} {spent:g}" for who, spent in each.items() if spent)
