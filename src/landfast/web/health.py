"""Is anybody there? Answered by whatever serves intake, without touching a store: a load balancer asks every second."""

from __future__ import annotations

from landfast.domain.answer import Answer
from landfast.domain.delivery import Head

HEALTHY = Answer(200, b'{"status":"ok"}')


def asks_for_health(head: Head) -> bool:
    return head.path == "/health" and head.method in {"GET", "HEAD"}
