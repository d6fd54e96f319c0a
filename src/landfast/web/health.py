"""Is anybody there, and can it take anything in? Answered by whatever serves intake, without touching a store: load
balancers ask every second.

`/health` says that the process runs, and nothing else can change that. `/ready` says whether to send webhooks here.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from landfast.domain.answer import Answer
from landfast.domain.delivery import Head
from landfast.domain.readiness import Readiness

HEALTHY = Answer(200, b'{"status":"ok"}')


def vital_sign(head: Head, ready: Callable[[], Readiness]) -> Answer | None:
    """The answer to whoever asks after us; None for all other requests."""
    if head.method not in {"GET", "HEAD"}:
        return None
    if head.path == "/health":
        return HEALTHY
    return _readiness(ready()) if head.path == "/ready" else None


def _readiness(now: Readiness) -> Answer:
    return Answer(200 if now.is_ready else 503, msgspec.json.encode({"ready": now.is_ready, **now.layers}))
