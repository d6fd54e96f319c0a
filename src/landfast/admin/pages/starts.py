"""Marks of charts: when processes started, which is when new code came in, and when alerts began."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from landfast.admin.charts.lines import Mark
from landfast.admin.questions.overview import Process
from landfast.domain.alerts.alert import Alert

APART = timedelta(minutes=2)
"""Processes that started within it are one start of new code, and one mark."""


def starts(processes: Sequence[Process], alerts: Sequence[Alert] = ()) -> list[Mark]:
    found: list[Mark] = []
    for one in sorted(processes, key=lambda each: each.started_at):
        if not found or one.started_at - found[-1].at > APART:
            found.append(Mark(one.started_at, f"{one.role} started"))
    found += [Mark(one.since, str(one.name), "bad") for one in alerts]
    return sorted(found, key=lambda mark: mark.at)
