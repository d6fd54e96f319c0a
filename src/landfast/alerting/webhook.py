"""A webhook, signed as the Standard Webhooks describe it: an inbox of ours could take it in."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from landfast.alerting.content import Content, encoded
from landfast.alerting.http_post import parts_of, post
from landfast.alerting.sink import SinkError, shown
from landfast.domain.standard_webhooks import key_of, signature


@dataclass(frozen=True, slots=True)
class WebhookSink:
    name: str
    url: str = field(repr=False)
    secret: str = field(repr=False)
    now: Callable[[], float] = time.time
    kind: str = "webhook"

    def send(self, content: Content) -> str:
        body, at = encoded(content).encode(), f"{self.now():.0f}"
        answered = post(
            self.url,
            body,
            {
                "content-type": "application/json",
                "webhook-id": content.id,
                "webhook-timestamp": at,
                "webhook-signature": signature(key_of(self.secret), content.id, at, body),
            },
        )
        told = f"{answered.status} {shown(answered.text, [*parts_of(self.url), self.secret])}".strip()
        if not 200 <= answered.status < 300:
            raise SinkError(told, retry_after=answered.retry_after)
        return told
