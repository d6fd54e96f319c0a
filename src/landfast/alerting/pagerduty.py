"""PagerDuty, through its Events API, version 2: an incident is opened, and resolved, by one dedup_key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from landfast.alerting.content import Content
from landfast.alerting.http_post import post
from landfast.alerting.sink import SinkError, shown

ENDPOINT = "https://events.pagerduty.com/v2/enqueue"
SUMMARY_CHARACTERS = 1_024
"""That PagerDuty takes at most."""


@dataclass(frozen=True, slots=True)
class PagerDutySink:
    name: str
    routing_key: str = field(repr=False)
    url: str = ENDPOINT
    kind: str = "pagerduty"

    def send(self, content: Content) -> str:
        body = msgspec.json.encode(event(content, self.routing_key))
        answered = post(self.url, body, {"content-type": "application/json"})
        told = f"{answered.status} {shown(answered.text, [self.routing_key])}".strip()
        if answered.status != 202:
            raise SinkError(told, retry_after=answered.retry_after)
        return told


def event(content: Content, routing_key: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": "resolve" if content.is_resolved else "trigger",
        "dedup_key": content.dedup_key,
        "client": "Landfast",
        "payload": {
            "summary": f"{content.title}: {content.sentence}"[:SUMMARY_CHARACTERS],
            "source": f"landfast inbox {content.inbox[:12]}",
            "severity": content.severity,
            "timestamp": content.since.isoformat(),
            "component": content.subject or "inbox",
            "class": content.alert,
            "custom_details": {**content.figures, "fix": content.fix, "runbook": content.runbook, "notice": content.id},
        },
    }
    if content.runbook.startswith(("https://", "http://")):
        found["links"] = [{"href": content.runbook, "text": f"Runbook: {content.alert}"}]
    return found
