"""What a notice says: as JSON, which waits in the inbox and is what a webhook receives, and as text for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from landfast.domain.alerts.alert import Notice, NoticeKind, label, runbook

WORDS = {
    NoticeKind.FIRING: "firing",
    NoticeKind.REPEATED: "still firing",
    NoticeKind.RESOLVED: "resolved",
    NoticeKind.TEST: "test",
}


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a sink needs, whenever and wherever it is sent."""

    id: str
    """Of this notice: the same at every try."""
    kind: NoticeKind
    incident: str
    """The same for all notices of one incident."""
    alert: str
    subject: str
    severity: str
    sentence: str
    fix: str
    figures: dict[str, Any]
    since: datetime
    at: datetime
    """When the notice was made."""
    runbook: str
    inbox: str
    """Which inbox it is about, in hexadecimal digits."""

    @property
    def dedup_key(self) -> str:
        """What a receiver knows the incident by."""
        return f"landfast-{self.incident}"

    @property
    def title(self) -> str:
        return f"[{WORDS[self.kind]}] {label(self.alert, self.subject)}"

    @property
    def is_resolved(self) -> bool:
        return self.kind is NoticeKind.RESOLVED


def content_of(notice: Notice, now: datetime, *, inbox: bytes, runbooks: str = "") -> Content:
    alert = notice.alert
    return Content(
        id=notice.id,
        kind=notice.kind,
        incident=alert.incident,
        alert=alert.name,
        subject=alert.subject,
        severity=alert.severity,
        sentence=alert.sentence,
        fix=alert.fix,
        figures=dict(alert.figures),
        since=alert.since,
        at=now,
        runbook=runbook(alert.name, runbooks),
        inbox=inbox.hex(),
    )


def encoded(content: Content) -> str:
    return msgspec.json.encode(content).decode()


def decoded(text: str) -> Content:
    return msgspec.json.decode(text, type=Content)


def lines(content: Content) -> list[str]:
    """For people: what, since when, what to do, and where it is explained."""
    since = f"since {content.since.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"
    if content.is_resolved:
        was = (content.at - content.since).total_seconds()
        return [f"Resolved after {was / 60:,.0f} minutes. It was: {content.sentence}", f"Runbook: {content.runbook}"]
    return [f"{content.sentence} ({content.severity}, {since})", f"Do: {content.fix}", f"Runbook: {content.runbook}"]
