"""A request as a provider would send it, taken through intake's own steps: what it is found to be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from landfast.domain.delivery import Head, Identity
from landfast.domain.errors import UnverifiedError
from landfast.intake.source import Source
from landfast.intake.verify import Examined, examine
from landfast.providers import provider
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of

NOW = 1_767_323_045.0
URL = "https://hooks.example.com/in/source"


def sent(name: str, data: Any = None, *, type_: str | None = None, id_: str | None = None, now: float = NOW) -> Draft:
    """The provider's sample, or this data or bytes instead of its body, signed."""
    body = sample(name, type_, id=id_, now=now) if data is None else data
    if not isinstance(body, bytes):
        body = json.dumps(body, separators=(",", ":")).encode()
    return signed_request(name, body, sender_secret(name), now=now, id=id_, type=type_, url=URL)


def taken(name: str, draft: Draft, *, now: float = NOW, url: str = URL, **settings: Any) -> Examined:
    profile = provider(name, **settings)
    source = Source("source", profile, our_secrets(profile), public_url=url)
    return examine(source, draft.head(), draft.body, now=datetime.fromtimestamp(now, UTC))


def event(name: str, draft: Draft, *, now: float = NOW) -> Identity:
    """The one event that it brings."""
    (identity,) = taken(name, draft, now=now).identities
    return identity


def is_refused(name: str, draft: Draft, *, now: float = NOW, url: str = URL) -> bool:
    try:
        taken(name, draft, now=now, url=url)
    except UnverifiedError:
        return True
    return False


def with_headers(draft: Draft, headers: Mapping[str, str | None]) -> Draft:
    """The same request with other headers; None takes one out."""
    kept = {name: value for name, value in draft.headers.items() if name not in headers}
    kept |= {name: value for name, value in headers.items() if value is not None}
    return Draft(draft.body, kept, draft.url, draft.method, draft.settings)


def asked(name: str, method: str, headers: Mapping[str, str], **settings: Any) -> Examined:
    """A request without a body, such as a handshake."""
    profile = provider(name, **settings)
    source = Source("source", profile, our_secrets(profile), public_url=URL)
    head = Head(method, "/in/source", "", headers_of(headers))
    return examine(source, head, b"", now=datetime.fromtimestamp(NOW, UTC))
