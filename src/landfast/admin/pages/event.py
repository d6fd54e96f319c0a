"""One event, and its four questions: what came, what was it taken for, what happened, what can I do?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from landfast.admin.charts.strip import strip
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.body_view import body_view
from landfast.admin.pages.drawn import drawn
from landfast.admin.pages.graph import drawn_graphs
from landfast.admin.pages.page import Page
from landfast.admin.pages.story import Line, moments, story, trace_lines
from landfast.admin.questions import event
from landfast.domain.lifecycle import WAITING
from landfast.domain.outcome import SAME_TRACE
from landfast.domain.reconciliation import RECONCILED
from landfast.domain.summary import CAME_AGAIN_AT_MOST
from landfast.providers.endpoint import LOOPBACK

MAY_RETRY = frozenset({"delayed"})
MAY_HOLD = frozenset(WAITING)
MAY_DECIDE = frozenset({"held"})
MAY_CLOSE = frozenset({"dead"})
SKIPPED_AT_MOST = 20
"""Forms for dead steps on one page: an event has a few, and a graph of thousands that died is mended in the code."""
ON_ITS_WAY = frozenset({"ready", "claimed"})


async def gather(ask: Ask) -> Mapping[str, Any]:
    is_revealed = ask.query.get("reveal") == "1"
    view = await ask("event.revealed" if is_revealed else "event.event", event=ask.path["event"])
    entity = view.value.event.entity if view.value else None
    if not entity or not ask.desk.inbox.registry.machines:
        return {"view": view}
    return {"view": view, "entity": await ask("lanes.entity", entity=entity)}


def draw(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    view: event.EventView | None = parts["view"].value
    if view is None:
        return {}
    source = ask.desk.inbox.sources.get(view.event.source)
    headers = _headers(view.headers)
    no_proof = _no_proof(headers, source.provider if source else "")
    came = view.event.received_at, view.event.redelivered, view.history
    lines = story(*came, is_proved=not no_proof, came_again=view.came_again)
    failed = _last_failure(lines)
    state = view.event.state
    return {
        "heading": view.event.type or view.event.key,
        "story": lines,
        "strip": drawn(strip(moments(lines), title="Life of this event")),
        "failed": failed,
        "trace": trace_lines(failed.trace, view.event.line) if failed else [],
        "body": body_view(view.body, view.body_base64),
        "headers": headers,
        "no_proof": no_proof,
        "handlers": _handlers(view),
        "graphs": drawn_graphs(view.effects),
        "dead_effects": [one for one in view.effects if str(one["state"]) == "dead"][:SKIPPED_AT_MOST],
        "came_again_at_most": CAME_AGAIN_AT_MOST,
        "provider": source.provider if source else "",
        "lifecycle": _states(parts, view.event.source),
        "is_revealed": ask.query.get("reveal") == "1",
        "back_filter": ask.query.get("q", ""),
        "may_retry": state in MAY_RETRY,
        "may_hold": state in MAY_HOLD,
        "may_decide": state in MAY_DECIDE,
        "may_close": state in MAY_CLOSE,
        "may_replay": state not in ON_ITS_WAY and not view.event.erased_at and not view.event.body_expired_at,
    }


def _states(parts: Mapping[str, Any], source: str) -> list[Any]:
    """Of the lifecycles that its entity is in."""
    found = parts["entity"].value if "entity" in parts else None
    return [one for one in found.states if one.source == source] if found else []


def _last_failure(lines: Sequence[Line]) -> Line | None:
    """The newest with a trace of its own: one that repeats itself is written down once."""
    flat = [each for line in lines for each in (line, *line.folded)]
    return next((line for line in reversed(flat) if line.trace not in ("", SAME_TRACE)), None)


def _headers(headers: Any) -> list[tuple[str, str]]:
    if not isinstance(headers, list):
        return []
    return [(str(pair[0]), str(pair[1])) for pair in headers if isinstance(pair, list | tuple) and len(pair) > 1]


def _no_proof(headers: Sequence[tuple[str, str]], provider: str) -> str:
    """Why nobody proved it; empty for what somebody did, as nearly everything."""
    if any(name == RECONCILED for name, _ in headers[:1]):
        return "no delivery brought it; it was read from the sender's own list"
    return "its endpoint asks for none, and takes callers on this machine alone" if provider == LOOPBACK else ""


def _handlers(view: event.EventView) -> list[Mapping[str, Any]]:
    """What each came to in the newest run that it has: its receipt, or its last attempt."""
    found: dict[str, dict[str, Any]] = {}
    for line in view.history:
        for attempt in line.attempts:
            if attempt.handler:
                words = {"retry": "failing", "no_writes": "done"}.get(attempt.outcome, attempt.outcome)
                found[attempt.handler] = {"state": words, "at": line.at, "result": None}
    for receipt in sorted(view.receipts, key=lambda one: int(one["run"])):
        before = found.get(receipt["handler"], {"at": None})
        found[receipt["handler"]] = {"state": str(receipt["outcome"]), "at": before["at"], "result": receipt["result"]}
    for one in view.schedule:
        found.setdefault(one.handler, {"state": "failing", "at": None, "result": None})["schedule"] = one
    return [{"schedule": None, "name": name, **told} for name, told in found.items()]


PAGE = Page("events", "/events/{event:path}", "Event", gather, draw, template="event.html")
