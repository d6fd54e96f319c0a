"""An event as text to take away: a signed request for a shell, and a test for pytest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from landfast.admin.pages.ask import Ask
from landfast.admin.pages.page import Draw, Page


async def gather_curl(ask: Ask) -> Mapping[str, Any]:
    return {"answer": await ask("event_texts.curl", event=ask.path["event"])}


async def gather_test(ask: Ask) -> Mapping[str, Any]:
    return {"answer": await ask("event_texts.saved_test", event=ask.path["event"])}


def _draw(lead: str) -> Draw:
    def draw(parts: Mapping[str, Any], ask: Ask) -> Mapping[str, Any]:
        found = parts["answer"].value
        return {
            "lead": lead,
            "event_url": f"/events/{ask.path['event']}",
            "text": found.text if found else "",
            "file_name": found.name if found else "",
        }

    return draw


PAGES = (
    Page(
        "events",
        "/events/{event:path}/curl",
        "Copy as signed curl",
        gather_curl,
        _draw("Its exact bytes under its own key, signed anew, valid for as long as the sender's signatures are."),
        template="text.html",
        is_live=False,
    ),
    Page(
        "events",
        "/events/{event:path}/test",
        "Save as a test",
        gather_test,
        _draw("Delivers its exact bytes to your handlers, in pytest, with the fixture that comes with Landfast."),
        template="text.html",
        is_live=False,
    ),
)
