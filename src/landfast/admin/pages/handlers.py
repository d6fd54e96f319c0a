"""Handlers and what they depend on: how each fares, whether it is paused or its breaker open."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from landfast.admin.pages.ask import Ask
from landfast.admin.pages.page import Page
from landfast.admin.questions.handlers import DependencyView, HandlerView

WINDOW_MINUTES = 60


async def gather(ask: Ask) -> Mapping[str, Any]:
    return {"handlers": await ask("handlers.handlers", minutes=WINDOW_MINUTES)}


def draw(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    found = parts["handlers"].value
    if found is None:
        return {}
    away = {one.name for one in found.dependencies if one.paused or one.breaker}
    return {
        "rows": [{"view": one, "state": _waits(one, away) or _state(one), "why": _why(one)} for one in found.handlers],
        "others": [{"view": one, "state": _state(one), "why": _why(one)} for one in found.dependencies],
    }


def _waits(one: HandlerView, away: AbstractSet[str]) -> tuple[str, str] | None:
    """What it needs is away, so it stands still, whatever it did before. What was done to itself is said first."""
    missing = sorted({name for each in one.declared for name in each.uses} & away)
    return (f"waits for {', '.join(missing)}", "bad") if missing and not (one.paused or one.breaker) else None


def _state(one: HandlerView | DependencyView) -> tuple[str, str]:
    if one.paused is not None:
        return f"paused since {one.paused.at:%H:%M}", "held"
    if one.breaker is not None:
        return f"breaker open since {one.breaker.at:%H:%M}", "bad"
    if isinstance(one, DependencyView):
        return "answers", "ok"
    if not one.declared:
        return "not in the code", "idle"
    if one.flow.failed and not one.flow.is_well_again:
        return f"{one.flow.failing:.0%} failing".replace("%", " %"), "bad" if one.flow.failing > 0.5 else "warn"
    return ("running", "ok") if one.flow.done else ("idle", "idle")


def _why(one: HandlerView | DependencyView) -> str:
    """Who paused it is somebody to ask. Which worker opened a breaker is no help."""
    if one.paused is not None:
        return f"{one.paused.who}: {one.paused.why}".strip(": ")
    return one.breaker.why if one.breaker is not None else ""


PAGE = Page("handlers", "/handlers", "Handlers and breakers", gather, draw)
