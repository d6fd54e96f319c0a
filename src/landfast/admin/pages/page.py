"""One row of the table of pages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment

from landfast.admin.pages.ask import Ask

Gather = Callable[[Ask], Awaitable[Mapping[str, Any]]]
Draw = Callable[[Mapping[str, Any], Ask], Mapping[str, Any]]


def _nothing(_parts: Mapping[str, Any], _ask: Ask) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class Page:
    """`gather` asks, and what it returns is the page's JSON. `draw` makes of that what the template needs besides:
    drawings, sentences, links."""

    name: str
    """In the navigation, and of the template."""
    path: str
    heading: str
    gather: Gather
    draw: Draw = _nothing
    template: str = ""
    filter_action: str = "/events"
    """Where the filter box leads: a page that lists by a filter takes it itself."""
    is_live: bool = True
    """Whether an open one is drawn again and again. Not where that runs the user's code, reads a secret,
    or would change what somebody is about to confirm."""
    templates: Environment | None = None
    """Of a page that is not ours: the demo's."""
