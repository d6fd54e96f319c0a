"""Signed requests for the tests of providers."""

from __future__ import annotations

from collections.abc import Mapping

from landfast.domain.delivery import Head, Headers
from landfast.ports.provider import Secret
from landfast.providers import Profile, provider

NOW = 1_767_323_045.0

SECRETS = {"standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
"""By provider; the others take any text."""


def secret_text(name: str) -> str:
    return SECRETS.get(name, "a secret of the sender")


def headers_of(fields: Mapping[str, str]) -> Headers:
    return Headers((name.encode(), value.encode("latin-1")) for name, value in fields.items())


def head_of(fields: Mapping[str, str]) -> Head:
    return Head("POST", "/in/source", headers=headers_of(fields))


def secret_of(profile: Profile | str, text: str | None = None, *, name: str = "current") -> Secret:
    chosen = provider(profile) if isinstance(profile, str) else profile
    return Secret(name, chosen.decode_secret(text or secret_text(chosen.name)))
