"""The proof as a balance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from landfast.admin.charts.balance import Part as Share
from landfast.admin.charts.balance import balance
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.page import Page
from landfast.admin.questions.proof import EquationView, ProofView

TONES = {
    "stored": "ok",
    "duplicate": "held",
    "rejected": "bad",
    "in flight": "idle",
    "done": "ok",
    "dead": "bad",
    "delayed": "warn",
    "unhandled": "warn",
    "held": "held",
    "queued": "held",
    "paused": "held",
    "parked": "held",
    "ready": "info",
    "claimed": "info",
    "expired": "idle",
    "with every receipt": "ok",
    "acknowledged": "ok",
    "from a spool or broker": "info",
    "nobody was told": "idle",
    "brought into the inbox": "ok",
    "waiting": "warn",
    "out of sight": "warn",
    "nowhere": "bad",
    "lost": "bad",
}


FRESH_SECONDS = 2.0
"""Whoever opens the page wants to know it as it is now."""


async def gather(ask: Ask) -> Mapping[str, Any]:
    return {"proof": await ask.proof(FRESH_SECONDS)}


def draw(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    found: ProofView | None = parts["proof"].value
    return {"tones": TONES, "balances": [(one, balance_of(one)) for one in found.equations] if found else []}


def balance_of(one: EquationView) -> Markup:
    shares = [Share(term.name, TONES.get(term.name, "idle"), term.value) for term in one.right]
    return drawn(balance(shares, title=one.left.name))


PAGE = Page("proof", "/proof", "Proof", gather, draw)
