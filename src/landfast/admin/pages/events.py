"""Events that match a filter, page by page; and those that are held."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.admin.pages.ask import Ask
from landfast.admin.pages.links import link
from landfast.admin.pages.page import Page
from landfast.admin.pages.part import Part
from landfast.admin.questions.events import EventCount, EventsPage

ROWS = 50


async def gather(ask: Ask) -> Mapping[str, Any]:
    return await gather_filtered(ask, ask.query.get("q", ""))


async def gather_filtered(ask: Ask, text: str) -> Mapping[str, Any]:
    listed = {"filter": text, "limit": ask.query.get("limit", str(ROWS)), "after": ask.query.get("after", "")}
    oldest_first = {"oldest_first": ask.query["order"] == "oldest"} if "order" in ask.query else {}
    found = await ask("events.events", **listed, **oldest_first)
    known = None if ask.query.get("after") or oldest_first else counted(found)
    return {"events": found, "count": known or await ask("events.count", filter=text)}


def counted(found: Part) -> Part | None:
    """What a first page knows that is not full: it has looked as far as counting would, and has found so many. A filter
    that nothing matches is looked for once, and not twice."""
    page: EventsPage | None = found.value
    if page is None or (page.next is not None and page.searched is None):
        return None
    return Part(EventCount(number=len(page.events), is_more=False, searched=page.searched))


def draw(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
    query = {name: ask.query.get(name, "") for name in ("q", "limit", "order")}
    path = ask.request.url.path
    found = parts["events"].value
    return {
        "next_url": link(path, **query, after=found.next) if found and found.next else "",
        "first_url": link(path, **query) if ask.query.get("after") else "",
        "turned_url": link(path, **query | {"order": "" if query["order"] == "oldest" else "oldest"}),
        "is_oldest_first": query["order"] == "oldest",
        "is_later_page": bool(ask.query.get("after")),
    }


PAGE = Page("events", "/events", "Events", gather, draw)


async def gather_held(ask: Ask) -> Mapping[str, Any]:
    return await gather_filtered(ask, "state:held")


HELD = Page("held", "/held", "Held", gather_held, draw)
