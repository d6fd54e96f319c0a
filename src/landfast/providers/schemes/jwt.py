"""JSON web tokens: claims that are signed, mostly with a digest of the body among them.

The algorithm is the profile's, never the token's choice alone: `none` is unknown here, and an algorithm of public keys
never gets a secret, nor an HMAC a public key.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from landfast.domain.delivery import Head
from landfast.domain.errors import ConfigError, UnverifiedError
from landfast.ports.provider import Hidden, KeyNeeded, Proven, PublicKey, Secret, Signature
from landfast.providers.request import Draft, Request
from landfast.providers.schemes import Coverage
from landfast.providers.schemes.algorithms import public_key
from landfast.providers.schemes.compact_token import NAMES, Token, compact, is_signed, parsed
from landfast.providers.schemes.keyforms import decode_key
from landfast.providers.schemes.keysets import address_in, from_jwk, key_in
from landfast.providers.schemes.signature_headers import only
from landfast.providers.template import Template

_is_uuid = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}").fullmatch
"""As the ids of keys are that are asked for with credentials: Plaid's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JwtScheme:
    header: str
    algorithms: tuple[str, ...]
    prefix: str = ""
    body_claim: str | None = None
    """The claim with the SHA-256 of the body."""
    body_encoding: str = "hex"
    is_absent_when_empty: bool = False
    """Whether an empty body has no such claim, and must have none."""
    url_claim: str | None = None
    """The claim with the SHA-256 of the URL, in hex."""
    time_claim: str | None = None
    """The claim with the time of signing, such as `iat`."""
    claims: Mapping[str, str] = field(default_factory=dict)
    """Claims that must have this value; templates, such as `{url}`."""
    true_claims: tuple[str, ...] = ()
    """Claims that must be true, such as `email_verified`."""
    secret_claim: str | None = None
    """Where there is no secret, the claim that a source's own one must equal: whom it takes requests from."""
    keys: str | None = None
    """The address of the provider's keys."""
    sandbox_keys: str | None = None
    """The same for its sandbox."""
    credentials: tuple[str, ...] = ()
    """The fields in which a secret `ONE:TWO` is sent there, with the key's id in `key_id`."""

    _key: bytes = field(init=False, repr=False, compare=False)
    _claims: tuple[tuple[str, Template], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        unknown = [name for name in self.algorithms if name not in NAMES]
        if unknown or not self.algorithms:
            raise ConfigError(f"algorithms {list(self.algorithms)} must be some of {', '.join(NAMES)}")
        if not self.header.strip():
            raise ConfigError("header is empty: name the header that holds the token")
        if self.body_encoding not in {"hex", "base64"}:
            raise ConfigError(f"body_encoding {self.body_encoding!r} is not known: use hex, base64")
        for name, address in (("keys", self.keys), ("sandbox_keys", self.sandbox_keys)):
            if address is not None and not address.startswith("https://"):
                raise ConfigError(f"{name} {address!r} must be the address of the provider's keys, with https://")
        object.__setattr__(self, "_key", self.header.lower().encode())
        object.__setattr__(self, "_claims", tuple((name, Template(text)) for name, text in self.claims.items()))

    @property
    def coverage(self) -> Coverage:
        return "no" if self.body_claim is None else "yes"

    @property
    def needs_url(self) -> bool:
        return self.url_claim is not None or any(template.needs_url for _, template in self._claims)

    @property
    def hidden_headers(self) -> Mapping[bytes, Hidden]:
        return {self._key: Hidden.DIGESTED}

    def decode_secret(self, text: str) -> bytes:
        if text.lstrip().startswith("-----"):
            return public_key(text)
        if text.lstrip().startswith("{"):
            return _configured_jwk(text)
        if self.credentials and text.count(":") != len(self.credentials) - 1:
            raise ConfigError(f"the secret must be {':'.join(self.credentials).upper()}, or a public key")
        return decode_key(text, "text")

    def fixed_keys(self, settings: Mapping[str, str]) -> str | None:
        return None if self.keys is None or self.credentials else address_in(settings, self.keys, self.sandbox_keys)

    def present(self, head: Head) -> Signature:
        value = only(head.headers, self.header, self._key)
        prefix = self.prefix.encode()
        if value[: len(prefix)].lower() != prefix.lower():
            raise UnverifiedError(f"the header {self.header} does not start with {self.prefix.strip()}")
        token = parsed(value[len(prefix) :], self.algorithms)
        signed_at = None if self.time_claim is None else _moment(token.claims, self.time_claim)
        if self.time_claim is not None and signed_at is None:
            raise UnverifiedError(f"the token has no {self.time_claim}")
        ends = _moment(token.claims, "exp")
        lifetime = (_moment(token.claims, "nbf") or 0.0, math.inf if ends is None else ends)
        return Signature(signed_at=signed_at, lifetime=lifetime, detail=token)

    def verify(self, signature: Signature, request: Request, secrets: Sequence[Secret]) -> Proven:
        token: Token = signature.detail
        matching: Secret | None = None
        for secret, key in self._candidates(token, request, secrets):
            if is_signed(token, key):
                matching = secret
        if matching is None:
            raise UnverifiedError("no active key made the token")
        self._check_claims(token.claims, request)
        return Proven(matching, signature, request)

    def sign(self, draft: Draft, key: bytes, *, now: float, id_: str) -> None:
        request, at = draft.request(), int(now)
        claims: dict[str, Any] = {"iat": at, "nbf": at, "exp": at + 60, "jti": id_}
        claims |= {name: template.fill(Signature(), request).decode() for name, template in self._claims}
        claims |= dict.fromkeys(self.true_claims, True)
        if self.secret_claim and not key.startswith(b"-----"):  # whom, one line, and then the PEM
            whom, _, key = key.partition(b"\n")
            claims[self.secret_claim] = whom.decode()
        if self.body_claim and (draft.body or not self.is_absent_when_empty):
            claims[self.body_claim] = self._written(request.sha256())
        if self.url_claim:
            claims[self.url_claim] = hashlib.sha256(draft.url.encode()).hexdigest()
        token = compact({"alg": self.algorithms[0], "typ": "JWT"}, json.dumps(claims).encode(), key)
        draft.headers[self.header] = self.prefix + token

    def _candidates(self, token: Token, request: Request, secrets: Sequence[Secret]) -> Iterator[tuple[Secret, bytes]]:
        """Each secret that counts, with the key to check by: itself, or the provider's."""
        own = [secret for secret in secrets if self.keys is None or isinstance(secret.key, PublicKey)]
        if self.keys is None or (own and self.secret_claim is None):
            yield from ((secret, secret.key) for secret in own)
            return
        for secret in secrets:
            if self._names(secret, token):  # a key that the source has is used instead of the provider's
                keys = [each.key for each in own] or [self._fetched(token, request, secret)]
                yield from ((secret, key) for key in keys)

    def _names(self, secret: Secret, token: Token) -> bool:
        if self.secret_claim is None or isinstance(secret.key, PublicKey):
            return self.secret_claim is None
        return bool(token.claims.get(self.secret_claim) == secret.key.decode())

    def _fetched(self, token: Token, request: Request, secret: Secret) -> PublicKey:
        url = address_in(request.settings, str(self.keys), self.sandbox_keys)
        post, is_fixed = None, not self.credentials
        if self.credentials:
            if not _is_uuid(token.key_id or ""):  # no credentials are sent for what cannot be a key of the provider's
                raise UnverifiedError("the token names no key")
            parts = zip(self.credentials, secret.key.decode().split(":"), strict=True)
            post = json.dumps(dict(parts) | {"key_id": token.key_id}).encode()
            url = f"{url}#{token.key_id}"  # one answer for each key: the fragment is not sent
        document = request.keys.get(url)
        if document is None:
            raise KeyNeeded(url, post=post, is_fixed=is_fixed)
        key = key_in(document, token.key_id)
        if key is None:
            raise KeyNeeded(url, post=post, is_outdated=True, is_fixed=is_fixed)
        return key

    def _check_claims(self, claims: dict[str, Any], request: Request) -> None:
        for name, template in self._claims:
            if claims.get(name) != template.fill(Signature(), request).decode():
                raise UnverifiedError(f"the token's {name} is another")
        for name in self.true_claims:
            if claims.get(name) is not True:
                raise UnverifiedError(f"the token does not say {name}")
        if self.url_claim and not _is_same(
            claims.get(self.url_claim), hashlib.sha256(request.url_as_sent().encode()).hexdigest()
        ):
            raise UnverifiedError("the token is for another URL; check public_url")
        if not self.body_claim:
            return
        if self.is_absent_when_empty and not request.body:
            if claims.get(self.body_claim) is not None:
                raise UnverifiedError("the token is for a body, and there is none")
        elif not _is_same(claims.get(self.body_claim), self._written(request.sha256())):
            raise UnverifiedError("the token is for another body")

    def _written(self, digest: bytes) -> str:
        return digest.hex() if self.body_encoding == "hex" else base64.b64encode(digest).decode()


def _configured_jwk(text: str) -> PublicKey:
    try:
        return from_jwk(json.loads(text))
    except (ValueError, AttributeError):
        raise ConfigError("the secret is no JSON web key; give one key, with kty and its numbers") from None


def _moment(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if value is not None and not (is_number and 0 <= value < 10**12):
        raise UnverifiedError(f"the token's {name} is no time")
    return value


def _is_same(claim: Any, expected: str) -> bool:
    return isinstance(claim, str) and hmac.compare_digest(claim.encode("utf-8", "replace"), expected.encode())
