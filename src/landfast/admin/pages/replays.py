"""Replays of many events: count, look at a sample, try it, confirm the count, watch it, cancel it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.admin.access.origin import is_led_here
from landfast.admin.pages.ask import Ask
from landfast.admin.pages.links import link
from landfast.admin.pages.page import Page
from landfast.admin.pages.part import Part
from landfast.admin.problems import Problem
from landfast.domain.access import Role

OVER = frozenset({"cancelled", "finished"})
CHOSEN_AT_MOST = 100
"""Events that are replayed one by one; more are a filter."""

MAY_GO_ON = frozenset({"stopped", "failed"})


async def gather(ask: Ask) -> Mapping[str, Any]:
    return {"replays": await ask("replays.replays")}


async def gather_one(ask: Ask) -> Mapping[str, Any]:
    return {"replay": await ask("replays.replay", job=ask.path["job"])}


def draw_one(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    job = parts["replay"].value
    if job is None:
        return {}
    return {
        "job": job,
        "is_over": job.state in OVER,
        "may_go_on": job.state in MAY_GO_ON and (not job.forced or ask.operator.role.may(Role.ADMIN)),
        "waits_for_a_worker": job.state == "running" and job.is_background and not job.is_carried,
    }


async def gather_new(ask: Ask) -> Mapping[str, Any]:
    """Of a filter, or of events that were chosen one by one."""
    chosen = ask.request.query_params.getlist("event")[:CHOSEN_AT_MOST]
    if chosen:
        return {"chosen": [await ask("event.event", event=event) for event in chosen]}
    text = ask.query.get("q", "")
    return {"preview": await ask("replays.preview", filter=text)} if text else {}


def draw_new(parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    chosen = parts.get("chosen", ())
    return {
        "chosen": [part.value.event for part in chosen if part.value],
        "missing": [part.error for part in chosen if part.problem],
    }


async def gather_dry_run(ask: Ask) -> Mapping[str, Any]:
    return {"dry_run": _foreign(ask) or await ask("replays.dry_run", filter=ask.query.get("q", ""))}


def draw_dry_run(_parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    return {"event_url": "", "replay_url": link("/replays/new", q=ask.query.get("q", ""))}


def _foreign(ask: Ask) -> Part | None:
    """A dry run runs the user's code, so a link on a page of somebody else's does not start one."""
    if not is_led_here(ask.request):
        return None
    told = "a page of another site led here, and handlers are not run for it; open this address yourself"
    return Part(problem=Problem(status=403, title="Refused", detail=told))


async def gather_event_dry_run(ask: Ask) -> Mapping[str, Any]:
    return {"dry_run": _foreign(ask) or await ask("replays.dry_run", event=ask.path["event"])}


def draw_event_dry_run(_parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    return {"event_url": f"/events/{ask.path['event']}", "replay_url": ""}


PAGES = (
    Page(
        "replays",
        "/replays/new",
        "Replay",
        gather_new,
        draw_new,
        template="replay_new.html",
        filter_action="/replays/new",
        is_live=False,
    ),
    Page("replays", "/replays/dry-run", "Dry run", gather_dry_run, draw_dry_run, "dry_run.html", is_live=False),
    Page("replays", "/replays/{job}", "Replay", gather_one, draw_one, template="replay.html"),
    Page("replays", "/replays", "Replays", gather),
    Page(
        "events",
        "/events/{event:path}/dry-run",
        "Dry run",
        gather_event_dry_run,
        draw_event_dry_run,
        template="dry_run.html",
        is_live=False,
    ),
)
