"""Signed requests for the tests of providers."""

from __future__ import annotations

from collections.abc import Mapping

from landfast.domain.delivery import Head, Headers
from landfast.ports.provider import Proven, Secret, Signature
from landfast.providers import Profile, provider
from landfast.providers.request import Draft, Request
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.signed import SignedScheme

NOW = 1_767_323_045.0

HMAC = ("stripe", "github", "shopify", "slack", "standard-webhooks", "generic")
"""One of each kind that signs with an HMAC in a header."""

SECRETS = {"standard-webhooks": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}
"""By provider; the others take any text."""


def secret_text(name: str) -> str:
    return SECRETS.get(name, "a secret of the sender")


def headers_of(fields: Mapping[str, str]) -> Headers:
    return Headers((name.encode(), value.encode("latin-1")) for name, value in fields.items())


def proven_of(head: Head, body: bytes) -> Proven:
    """As if its signature had been right, whatever it is."""
    return Proven(Secret("any", b"any"), Signature(), Request(head, body))


def head_of(fields: Mapping[str, str]) -> Head:
    return Head("POST", "/in/source", headers=headers_of(fields))


def scheme_of(profile: Profile) -> SignedScheme:
    """The one that it signs with."""
    scheme = profile.scheme.schemes[0] if isinstance(profile.scheme, AnyOf) else profile.scheme
    assert isinstance(scheme, SignedScheme)
    return scheme


def signature_header(profile: Profile) -> str:
    return scheme_of(profile).signature.partition("|")[0].strip().removeprefix("header:")


def signed_headers(
    profile: Profile, body: bytes, key: bytes, *, now: float = NOW, id_: str = "msg_1"
) -> dict[str, str]:
    """Only what the signature depends on, the signature itself last."""
    draft = Draft(body)
    profile.scheme.sign(draft, key, now=now, id_=id_)
    return draft.headers


def secret_of(profile: Profile | str, text: str | None = None, *, name: str = "current") -> Secret:
    chosen = provider(profile) if isinstance(profile, str) else profile
    return Secret(name, chosen.decode_secret(text or secret_text(chosen.name)))
