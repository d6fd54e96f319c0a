"""A provider that the user describes in the source itself: any HMAC over the body."""

from __future__ import annotations

from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import Any

from landfast.domain.errors import ConfigError
from landfast.providers.profile import Profile
from landfast.providers.redelivery import Sample
from landfast.providers.schemes.signature_headers import Encoding
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.schemes.timestamps import Unit

NAME = "generic"

SAMPLE = Sample(
    type="order.created",
    id="order-event-1001",
    data={
        "id": "{id}",
        "type": "{type}",
        "created_at": "2026-01-01T00:00:00Z",
        "data": {"order": "1001", "total": 4200, "currency": "EUR"},
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    header: str = "X-Signature"
    algorithm: str = "sha256"
    encoding: Encoding = "hex"
    prefix: str = ""
    timestamp_header: str | None = None
    timestamp_unit: Unit = "s"
    content: str | None = None
    """`{body}`, or `{timestamp}.{body}` where there is a timestamp, unless the sender has another."""
    type: str = "body:type"
    occurred_at: str | None = None


def described(options: dict[str, Any]) -> Profile:
    known = [each.name for each in fields(Options)]
    for name, value in options.items():
        if name not in known:
            nearest = get_close_matches(name, known, n=1)
            hint = f"did you mean {nearest[0]}?" if nearest else f"it has {', '.join(known)}"
            raise ConfigError(f"the generic provider has no option {name!r}: {hint}")
        if not isinstance(value, str):
            raise ConfigError(f"the generic provider's option {name} must be text, not {value!r}")
    chosen = Options(**options)
    content = chosen.content or ("{timestamp}.{body}" if chosen.timestamp_header else "{body}")
    return Profile(
        name=NAME,
        title="Any HMAC",
        scheme=SignedScheme(
            signature=f"header:{chosen.header}",
            algorithm=chosen.algorithm,
            encoding=chosen.encoding,
            content=content,
            prefix=chosen.prefix,
            timestamp=f"header:{chosen.timestamp_header}" if chosen.timestamp_header else None,
            timestamp_unit=chosen.timestamp_unit,
        ),
        key="body",  # a field named `id` may be the object's: two events of one object would become one
        type=chosen.type,
        occurred_at=chosen.occurred_at,
        samples=(SAMPLE,),
    )
