"""A sender of the catalogue and the source that knows it: whatever it signs goes through the very steps of intake."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlencode

from landfast.domain.delivery import Head, Identity
from landfast.intake.source import Source
from landfast.intake.verify import examine
from landfast.ports.provider import Greeting
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.request import Draft
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import our_secrets, sender_secret
from tests.providers.requests import headers_of

NOW = 1_767_323_045.0
URL = "https://hooks.example.com/in/source"


def profile_of(name: str) -> Profile:
    settings: dict[str, Any] = {setting.removesuffix("?"): "a value" for setting in PROFILES[name].settings}
    return provider(name, **settings)


def source_of(name: str) -> Source:
    profile = profile_of(name)
    return Source("source", profile, our_secrets(profile), public_url=URL)


def sample_of(name: str, *, id: str | None = None) -> Any:  # noqa: A002 - the word that senders use
    """The data of the provider's sample, to be changed by a test."""
    body = sample(name, id=id)
    return dict(parse_qsl(body.decode())) if PROFILES[name].samples[0].is_form else json.loads(body)


def signed(name: str, data: Any, *, type_: str | None = None, at: float = NOW) -> Draft:
    is_form = PROFILES[name].samples[0].is_form
    body = urlencode(data).encode() if is_form else json.dumps(data).encode()
    return signed_request(profile_of(name), body, sender_secret(name), now=at, type=type_, url=URL)


def events(
    name: str, data: Any, *, type_: str | None = None, headers: Mapping[str, str] | None = None, at: float = NOW
) -> list[Identity]:
    """What a genuine request with this data comes to; `headers` are added after it was signed."""
    draft = signed(name, data, type_=type_, at=at)
    draft.headers.update(headers or {})
    return taken(name, draft, at=at)


def event(name: str, data: Any, **more: Any) -> Identity:
    (only,) = events(name, data, **more)
    return only


def taken(name: str, draft: Draft, *, at: float = NOW) -> list[Identity]:
    examined = examine(source_of(name), draft.head(), draft.body, now=datetime.fromtimestamp(at, UTC))
    assert examined.greeting is None
    return list(examined.identities)


def greeting(name: str, method: str, query: Mapping[str, str], headers: Mapping[str, str] | None = None) -> Greeting:
    """The answer to a handshake that nobody signs."""
    head = Head(method, "/in/source", urlencode(query), headers_of(headers or {}))
    answered = examine(source_of(name), head, b"", now=datetime.fromtimestamp(NOW, UTC)).greeting
    assert answered is not None
    return answered
