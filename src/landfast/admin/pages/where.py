"""Where to look for an alert: the page of the dashboard that shows what it is about."""

from __future__ import annotations

from landfast.admin.pages.links import link
from landfast.domain.alerts.alert import Alert, AlertName

PAGES = {
    AlertName.DUPLICATES_GONE: "/proof",
    AlertName.OLDEST_WAITING: "/events?q=state%3Aready",
    AlertName.SPOOL_IN_USE: "/doctor",
    AlertName.BREAKER_OPEN: "/handlers",
    AlertName.CLOCK_SKEW: "/doctor",
    AlertName.UNVERIFIED_FLOOD: "/rejected",
    AlertName.ONLY_REFUSALS: "/rejected",
    AlertName.NOBODY_ALIVE: "/doctor",
    AlertName.DISK_LOW: "/doctor",
    AlertName.INBOX_AWAY: "/doctor",
}

FILTERS = {
    AlertName.DEAD_LETTERS: ("/dead", "source:{}"),
    AlertName.FAILING_HANDLER: ("/failures", "handler:{}"),
    AlertName.DUPLICATE_STORM: ("/events", "source:{}"),
}
"""With the alert's subject in their filter."""


def where(alert: Alert, root: str) -> str:
    if alert.name in FILTERS:
        path, text = FILTERS[alert.name]
        return link(f"{root}{path}", q=text.format(alert.subject)) if alert.subject else f"{root}{path}"
    return f"{root}{PAGES.get(alert.name, '/sources')}"
