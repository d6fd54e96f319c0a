"""What fails, by error and span of time, each number a link to its events. And dead letters, by what killed them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from landfast.admin.charts.bars import bar_chart
from landfast.admin.charts.lines import Series
from landfast.admin.pages import events
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.links import link
from landfast.admin.pages.page import Page
from landfast.admin.pages.part import Part
from landfast.admin.pages.starts import starts
from landfast.admin.questions.failures import ErrorRow, Errors, Groups
from landfast.domain.rates import hour_of

HUES = ("hue-2", "hue-3", "hue-4", "hue-1", "hue-5")
"""Of errors; what is beyond them is drawn as one."""

REST = "others"

ERRORS_SECONDS = 15.0
"""For which a week of failed runs is known: it has thousands of rows."""

MARKS_SECONDS = 5.0
"""For which it is known when processes started."""


async def gather(ask: Ask) -> Mapping[str, Any]:
    text = ask.query.get("q", "")
    return {
        "errors": await ask.shared("failures.errors", ERRORS_SECONDS, filter=text),
        "dead": await ask("failures.failures", filter=text),
        "failing": await ask("failures.failures", filter=text, is_failing=True),
        "overview": await ask.shared("overview.overview", MARKS_SECONDS),
    }


def draw(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    errors: Errors | None = parts["errors"].value
    series = hourly(errors) if errors else []
    seen = parts["overview"].value
    marks = starts(seen.processes) if seen else []
    chart = ""
    if errors and series:
        begin = hour_of(errors.at) - timedelta(hours=23)
        times = [begin + timedelta(hours=number) for number in range(24)]
        title = "Failed attempts of the last 24 hours, by error"
        chart = bar_chart(times, series, span=timedelta(hours=1), title=title, unit="per hour", marks=marks)
    return {
        "series": series,
        "chart": drawn(chart),
        "rows": error_rows(errors.rows) if errors else [],
        "spans": list(errors.rows[0].counts) if errors and errors.rows else [],
        "groups": [*_groups(parts["dead"]), *_groups(parts["failing"])],
        "searched": _searched(parts["dead"].value, parts["failing"].value),
    }


def hourly(errors: Errors) -> list[Series]:
    """The commonest errors, and the sum of all others."""
    ranked = sorted(errors.series.items(), key=lambda item: -sum(item[1]))
    shown = [
        Series(name, hue, [float(number) for number in numbers])
        for (name, numbers), hue in zip(ranked, HUES, strict=False)
    ]
    rest = [numbers for _, numbers in ranked[len(HUES) :]]
    if rest:
        shown.append(Series(REST, "hue-6", [float(sum(each)) for each in zip(*rest, strict=True)]))
    return shown


def error_rows(rows: Sequence[ErrorRow]) -> list[Mapping[str, Any]]:
    return [
        {
            "error": row.error,
            "handler": row.handler,
            "source": row.source,
            "cells": [
                {"title": span, "count": count, "href": link("/events", q=row.filters[span])}
                for span, count in row.counts.items()
            ],
        }
        for row in rows
    ]


def _groups(part: Part) -> list[Mapping[str, Any]]:
    found: Groups | None = part.value
    return [{"group": one, "href": link("/events", q=one.filter)} for one in found.groups] if found else []


def _searched(*found: Groups | None) -> str:
    """Honest about what was looked at."""
    known = [one for one in found if one is not None]
    looked = sum(one.looked_at for one in known)
    return f"all {looked:,}" if all(one.is_all for one in known) else f"the newest {looked:,} were looked at"


async def gather_dead(ask: Ask) -> Mapping[str, Any]:
    text = _dead_filter(ask)
    listed = await events.gather_filtered(ask, text)
    return {"groups": await ask("failures.failures", filter=text), **listed}


def draw_dead(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    return {
        **events.draw(parts, ask),
        "rows": _groups(parts["groups"]),
        "searched": _searched(parts["groups"].value),
        "all_filter": _dead_filter(ask),
    }


def _dead_filter(ask: Ask) -> str:
    text = ask.query.get("q", "")
    return text if "state:" in text else f"{text} state:dead".strip()


PAGE = Page("failures", "/failures", "Failures", gather, draw, filter_action="/failures")
DEAD = Page("dead", "/dead", "Dead letters", gather_dead, draw_dead, filter_action="/dead")
