"""A source of each provider, one genuine request to it, and a signer of our own that shares no code with intake's."""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

from landfast.intake.source import Source
from landfast.ports.provider import PublicKey, Secret
from landfast.providers import Profile, provider
from landfast.providers.catalogue import PROFILES
from landfast.providers.request import Draft
from landfast.providers.schemes.anyof import AnyOf
from landfast.providers.schemes.jwt import JwtScheme
from landfast.providers.schemes.signed import SignedScheme
from landfast.providers.signing import sample, signed_request
from tests.providers.keypairs import KINDS, our_secrets, pair, sender_secret
from tests.providers.oracle import NOW, Sent, is_genuine, part_of, places, signing_scheme, timestamp_of

PUBLIC_URL = "https://hooks.example.com/in/source"
QUERY = "shop=7"
"""A sender may have been given an address with a query: that is where a byte of a body could hide."""


@dataclass(frozen=True)
class Victim:
    name: str
    profile: Profile
    source: Source
    genuine: Sent
    key: bytes
    """What its sender signs with; for a private key the public one, which everybody may know."""

    @property
    def schemes(self) -> tuple[Any, ...]:
        return self.profile.scheme.schemes if isinstance(self.profile.scheme, AnyOf) else (self.profile.scheme,)

    @cached_property
    def covered(self) -> frozenset[str]:
        """What of `body`, `query` and `time` cannot be changed without notice."""
        probes = {
            "body": self.genuine._replace(body=b"{}"),
            "query": self.genuine._replace(query="other=1"),
            "time": self.genuine._replace(now=NOW + 10**8),
        }
        return frozenset(name for name, sent in probes.items() if not is_genuine(self.profile, self.genuine, sent))

    @cached_property
    def covered_headers(self) -> list[int]:
        """The numbers of those headers that cannot be changed without notice."""
        names = [name.decode() for name, _ in self.genuine.headers]
        changed = [with_header(self.genuine, name, b"other") for name in names]
        return [at for at, sent in enumerate(changed) if not is_genuine(self.profile, self.genuine, sent)]

    @property
    def signed(self) -> SignedScheme | None:
        """How the genuine request is signed, where that is a signature over parts of it."""
        scheme = signing_scheme(self.profile)
        return scheme if isinstance(scheme, SignedScheme) else None

    @property
    def header(self) -> str | None:
        """The header that holds the signature, the token or the JWT."""
        scheme = signing_scheme(self.profile)
        named = {"ebay": "X-EBAY-SIGNATURE", "paypal": "PAYPAL-TRANSMISSION-SIG"}.get(self.name)
        place = getattr(scheme, "signature", None) or getattr(scheme, "token", None) or ""
        if place.startswith("header:"):
            return str(place.partition("|")[0].strip().removeprefix("header:"))
        return named or getattr(scheme, "header", None)


PUBLIC = {"standard-webhooks+public": "ed25519", "fusionauth+public": "rsa"}
"""Providers whose senders may sign either way, where the source has the public key: what if that became a secret?"""

NAMES = (*PROFILES, *PUBLIC)


@cache
def victim(name: str) -> Victim:
    profile = _profile(name)
    secrets = (
        (Secret("public", profile.decode_secret(pair(PUBLIC[name])[1])),) if name in PUBLIC else our_secrets(profile)
    )
    signing = pair(PUBLIC[name])[0] if name in PUBLIC else sender_secret(name)
    draft = signed_request(profile, _body(profile), signing, now=NOW, url=f"{PUBLIC_URL}?{QUERY}")
    source = Source("source", profile, secrets, public_url=f"{PUBLIC_URL}?{QUERY}")
    return Victim(name, profile, source, sent_of(draft), secrets[0].key)


def _profile(name: str) -> Profile:
    base = name.partition("+")[0]
    settings: dict[str, Any] = {setting.removesuffix("?"): "a value" for setting in PROFILES[base].settings}
    profile = provider(base, **settings)
    scheme = profile.scheme
    if name in PUBLIC and isinstance(scheme, AnyOf):
        return replace(profile, scheme=AnyOf(*reversed(scheme.schemes), by_key=scheme.by_key))
    if name in PUBLIC and isinstance(scheme, JwtScheme):
        return replace(profile, scheme=replace(scheme, algorithms=("RS256", *scheme.algorithms)))
    return profile


def _body(profile: Profile) -> bytes:
    body = sample(profile, now=NOW)
    # A subject is the one part of what SNS signs that may be missing, and so the one that can be made to seem so.
    return body if profile.name != "aws-sns" else b'{"Subject":"ice",' + body[1:]


def sent_of(draft: Draft) -> Sent:
    head = draft.head()
    return Sent(tuple(head.headers.pairs), draft.body, head.query, head.method)


def public_forms(victim: Victim) -> list[bytes]:
    """The forms in which a public key could be mistaken for a secret."""
    if not isinstance(victim.key, PublicKey):
        return []
    kind = PUBLIC.get(victim.name) or KINDS[victim.name]
    pem = pair(kind)[1].encode()
    return [bytes(victim.key), pem, pem.strip()]


def content_of(scheme: SignedScheme, sent: Sent, key: bytes, **given: bytes) -> bytes:
    """What the sender would sign for this request; parts that are given stand instead of those in it."""
    content, filled = scheme.content, b""
    while content:
        literal, brace, content = content.partition("{")
        filled += literal.encode()
        if brace:
            name, _, content = content.partition("}")
            filled += given[name] if name in given else _part(scheme, name, sent, key)
    return filled


def _part(scheme: SignedScheme, name: str, sent: Sent, key: bytes) -> bytes:
    url = f"{PUBLIC_URL}?{sent.query}" if sent.query else PUBLIC_URL
    match name:
        case "secret":
            return key
        case "url" | "url_unescaped":
            return url.encode("utf-8", "surrogatepass")
        case "url_without_query":
            return PUBLIC_URL.encode()
        case "sha256":
            return hashlib.sha256(sent.body).digest()
    found = part_of(scheme, name, sent)
    if isinstance(found, list):
        found = found[0] if found else b""
    return found if isinstance(found, bytes) else str(found or "").encode("utf-8", "surrogatepass")


def mac(key: bytes, content: bytes, algorithm: str) -> bytes:
    """By its name in `algorithms`; of a plain hash, the key is in the content already."""
    if algorithm.startswith("plain-"):
        return hashlib.new(algorithm.removeprefix("plain-"), content).digest()
    return hmac.new(key, content, algorithm).digest()


def spelt(digest: bytes, encoding: str) -> bytes:
    match encoding:
        case "hex":
            return digest.hex().encode()
        case "base64url":
            return base64.urlsafe_b64encode(digest).rstrip(b"=")
    return base64.b64encode(digest)


def resigned(victim: Victim, sent: Sent, *, timestamp: bytes | None = None) -> Sent | None:
    """The same request signed anew with the right key, by us; None for what only a private key can sign, and for a
    signature that stands in the body."""
    scheme = victim.signed
    if scheme is None or isinstance(victim.key, PublicKey) or places(scheme)[0][0] != "header":
        return None
    if any(name in scheme.content for name in ("sorted_query", "url_and_form", "php_form")):
        return None
    given = {} if timestamp is None else {"timestamp": timestamp}
    digest = mac(victim.key, content_of(scheme, sent, victim.key, **given), scheme.algorithm)
    return with_signature(victim, sent, spelt(digest, scheme.encoding), timestamp=timestamp)


def with_signature(victim: Victim, sent: Sent, text: bytes, *, timestamp: bytes | None = None) -> Sent:
    """The same request with this signature, and this time, written as its sender writes them."""
    scheme = victim.signed
    assert scheme is not None
    value = scheme.prefix.replace("*", "key").encode() + text
    kind, _, name = (scheme.timestamp or "").partition(":")
    if kind == "entry":
        at = timestamp_of(scheme, sent) if timestamp is None else timestamp
        value = b"%b%b%b%b" % (name.encode(), at or b"", (scheme.separator or "").encode(), value)
    elif kind == "header" and timestamp is not None:
        sent = with_header(sent, name, timestamp)
    return with_header(sent, places(scheme)[0][1], value)


def with_header(sent: Sent, name: str, *values: bytes) -> Sent:
    """With these values of a header, in its place; without any, without it."""
    key = name.lower().encode()
    before = [pair for pair in sent.headers if pair[0].lower() != key]
    return sent._replace(headers=(*before, *((key, value) for value in values)))
