"""Every page, in the order in which addresses are looked up: the longer ones first."""

from __future__ import annotations

from landfast.admin.pages import (
    effects,
    event,
    event_texts,
    events,
    failures,
    handlers,
    overview,
    proof,
    replays,
    sources,
    watch,
)
from landfast.admin.pages.page import Page

PAGES: tuple[Page, ...] = (
    overview.PAGE,
    *replays.PAGES,
    *event_texts.PAGES,
    events.PAGE,
    event.PAGE,
    failures.PAGE,
    failures.DEAD,
    events.HELD,
    sources.PAGE,
    sources.ONE,
    handlers.PAGE,
    effects.PAGE,
    proof.PAGE,
    *watch.PAGES,
)
