"""The sources of an application as operators see them: no secret is read for it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from landfast.app.sources import profile_of
from landfast.app.sources_checkup import drops_refused
from landfast.config import SecretSettings, SourceSettings


def source_fields(source: SourceSettings, now: float) -> dict[str, Any]:
    profile = profile_of(source)
    tolerance = source.tolerance or profile.tolerance
    return {
        "name": source.name,
        "provider": profile.name,
        "path": source.path,
        "kind": "webhooks" if source.endpoint is None else "endpoint",
        "wait_seconds": None if source.endpoint is None else source.endpoint.wait,
        "failed": None if source.endpoint is None else source.endpoint.failed,
        "public_url": source.public_url or None,
        "needs_public_url": profile.needs_url,
        "covers_body": profile.coverage,
        "proves_account": profile.proves_account,
        "every_arrival_is_an_event": "arrival" in profile.key,
        "tolerance_seconds": None if math.isinf(tolerance) else tolerance,
        "refusal_status": profile.refusal,
        "refusal_is_final": drops_refused(profile),
        "retry_window_seconds": profile.redelivery.window,
        "secrets": [_secret_fields(secret, number, now) for number, secret in enumerate(source.secrets, start=1)],
    }


def _secret_fields(secret: SecretSettings, number: int, now: float) -> dict[str, Any]:
    state = "future" if now < secret.start else "retired" if now >= secret.end else "active"
    return {
        "name": secret.name or f"{number}",
        "state": state,
        "from": moment_of(secret.start),
        "until": moment_of(secret.end),
        "reference": reference_of(secret),
    }


def reference_of(secret: SecretSettings) -> str | None:
    """Where it is; None for a secret that stands in the settings themselves."""
    return secret.value if secret.value.startswith(("env:", "file:")) else None


def moment_of(unix: float) -> datetime | None:
    return datetime.fromtimestamp(unix, UTC) if math.isfinite(unix) else None
