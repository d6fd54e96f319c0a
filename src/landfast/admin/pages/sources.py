"""Sources: who sends, how each is proven, by which secrets, and how to change one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from landfast.admin.charts.lines import sparkline
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.page import Page
from landfast.admin.pages.part import Part
from landfast.admin.pages.words import duration
from landfast.admin.problems import Problem
from landfast.admin.questions.overview import Overview
from landfast.admin.questions.sources import SourceView
from landfast.operations.flow_status import SourceStatus

WINDOW_MINUTES = 60


async def gather(ask: Ask) -> Mapping[str, Any]:
    return {
        "sources": await ask("sources.sources", minutes=WINDOW_MINUTES),
        "overview": await ask("overview.overview", minutes=WINDOW_MINUTES),
    }


def draw(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    found, seen = parts["sources"].value, parts["overview"].value
    now = seen.at if seen else None
    return {"rows": [source_row(one, seen, now) for one in found.sources if one.name] if found else []}


async def gather_one(ask: Ask) -> Mapping[str, Any]:
    name = ask.path["source"]
    listed = await ask("sources.sources", minutes=WINDOW_MINUTES)
    one = next((each for each in listed.value.sources if each.name == name), None) if listed.value else None
    missing = Problem(status=404, title="Not found", detail=f"there is no source {name!r}")
    rotation = {key: ask.query[key] for key in ("new", "hours") if ask.query.get(key)}
    return {
        "source": listed if listed.problem else Part(one) if one else Part(problem=missing),
        "overview": await ask("overview.overview", minutes=WINDOW_MINUTES),
        "unhandled": await ask("sources.unhandled"),
        "rejections": await ask("rejections.rejections", source=name, limit=10),
        **(
            {"rotation": await ask("sources.secret_rotation", source=name, **rotation)} if one and _rotates(ask) else {}
        ),
    }


def _rotates(ask: Ask) -> bool:
    return "rotate" in ask.query


def draw_one(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    one, seen = parts["source"].value, parts["overview"].value
    if one is None:
        return {"heading": "Source"}
    unhandled = parts["unhandled"].value
    return {
        "heading": one.name,
        "row": source_row(one, seen, seen.at if seen else None),
        "rows": [each for each in unhandled.rows if each.source == one.name] if unhandled else [],
        "rotates": _rotates(ask),
        "new": ask.query.get("new", ""),
        "hours": ask.query.get("hours", ""),
    }


def source_row(one: SourceView, seen: Overview | None, now: datetime | None) -> Mapping[str, Any]:
    series = seen.source_series.get(one.name, ())[:-1] if seen else ()  # the running minute would look like a fall
    flow, settings = one.flow, one.settings
    hue = "hue-2" if flow.has_only_refusals else "hue-1" if flow.received else "hue-6"
    return {
        "name": one.name,
        "flow": flow,
        "provider": settings.get("provider", "not configured any more"),
        "path": settings.get("path", ""),
        "settings": settings,
        "spark": drawn(sparkline(series, title=f"{one.name}: {flow.received:,} deliveries", hue=hue)),
        "secrets": [{**secret, "told": _age(secret, now)} for secret in settings.get("secrets", ())],
        "state": state_of(flow, one.paused.at if one.paused else None),
        "paused": one.paused,
    }


def _age(secret: Mapping[str, Any], now: datetime | None) -> str:
    """`41 d old`, `retired`, `from 2026-11-18`: what is known without reading it."""
    state, start, end = secret["state"], secret["from"], secret["until"]
    if now is None or state == "retired":
        return str(state)
    if state == "future" and start:
        return f"from {start:%Y-%m-%d}"
    since = f"{duration((now - start).total_seconds())} old" if start else "no start is given"
    return f"{since}{f', until {end:%Y-%m-%d}' if end else ''}"


def state_of(flow: SourceStatus, paused_at: datetime | None) -> tuple[str, str]:
    """A word, and its colour."""
    if paused_at is not None:
        return f"paused since {paused_at:%H:%M}", "held"
    if flow.has_only_refusals:
        return "only refusals", "bad"
    if not flow.name:
        return "no such source", "idle"
    if flow.rejected > flow.accepted:
        return "mostly refused", "warn"
    if flow.received:
        return "flowing", "ok"
    return ("quiet", "idle") if flow.last_accepted else ("nothing yet", "idle")


PAGE = Page("sources", "/sources", "Sources", gather, draw)
ONE = Page("sources", "/sources/{source}", "Source", gather_one, draw_one, template="source.html")
