"""What is measured: one module for each kind of row."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.stage import STOLEN, Kept, Measured

DISTURBED = 0.1
"""Of the machine: where others used more than this during a run, its figure is void."""


@dataclass(slots=True)
class Row:
    """One line of the table. `values` are the rounds; the middle one counts."""

    name: str
    unit: str
    values: list[float] = field(default_factory=list)
    stolen: list[float] = field(default_factory=list)
    """The share of the machine that its host gave to others, in each round."""
    notes: list[str] = field(default_factory=list)
    detail: dict[str, Any] = field(default_factory=dict)
    is_void: bool = False
    """The figure says more about the generator, or about others on this machine, than about the server."""

    @property
    def value(self) -> float | None:
        return statistics.median(self.values) if self.values else None


def void_on_a_busy_machine(rows: Sequence[Row], share: float) -> None:
    """Rows that do not watch the machine themselves are judged by how busy others kept it before and after them."""
    for row in rows:
        stolen = statistics.median(row.stolen) if row.stolen else 0.0
        if stolen > STOLEN:
            row.is_void = True
            row.notes.append(f"the host took {stolen:.0%} of the machine away")
        if share > DISTURBED and not row.is_void:
            row.is_void = True
            row.notes.append(f"others used {share:.0%} of the machine before or after")


def from_runs(name: str, kept: Sequence[Kept[Measured]]) -> Row:
    """Answers per second, with what each part of the machine spent on one of them."""
    runs = [each.found for each in kept]
    row = Row(name, "/s", [run.answered.per_second for run in runs], [each.stolen for each in kept])
    if not runs:
        return row
    ok = sum(run.answered.ok for run in runs) or 1
    seconds = sum(run.answered.seconds for run in runs) or 1.0
    spent = {
        "server": sum(run.server for run in runs),
        "store": sum(run.store for run in runs),
        "generator": sum(run.answered.cpu for run in runs),
    }
    row.detail = {
        "generator": runs[0].answered.generator,
        "cpu_microseconds_each": {who: round(used / ok * 1e6, 1) for who, used in spent.items()},
        "cores_used": {who: round(used / seconds, 2) for who, used in spent.items()},
        "p99_ms": round(statistics.median(run.answered.p99 for run in runs), 2),
        "disturbed": round(max(run.disturbance for run in runs), 2),
    }
    if any(run.is_void for run in runs):
        row.notes.append("the generator is the bottleneck")
    if row.detail["disturbed"] > DISTURBED:
        row.notes.append(f"others used {row.detail['disturbed']:.0%} of the machine")
    row.is_void = bool(row.notes)
    if failed := sum(run.answered.failed for run in runs):
        row.notes.append(f"{failed} requests failed")
    return row
