"""Effects: what was staged, what became of each, and what blocks it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.admin.pages.ask import Ask
from landfast.admin.pages.page import Page
from landfast.domain.effect import EffectState


async def gather(ask: Ask) -> Mapping[str, Any]:
    state = {"state": ask.query["state"]} if ask.query.get("state") else {}
    return {"effects": await ask("effects.effects", **state)}


def draw(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    found = parts["effects"].value
    return {
        "state": ask.query.get("state", ""),
        "states": list(map(str, EffectState)),
        "rows": [_row(row) for row in found.effects] if found else [],
    }


def _row(row: Mapping[str, Any]) -> Mapping[str, Any]:
    context = row.get("context")
    event = context if isinstance(context, dict) else {}
    source, key = str(event.get("source", "")), str(event.get("key", ""))
    return {**row, "event": f"{source}/{key}" if key else ""}


PAGE = Page("effects", "/effects", "Effects", gather, draw)
